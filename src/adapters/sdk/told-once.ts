const told = new Set<string>()

/**
 * Says once for each process that a call has no effect here: as a warning of the process, which an application may listen
 * to (`process.on('warning')`).
 */
export function tellOnce(call: string, why: string): void {
  if (told.has(call)) return
  told.add(call)
  process.emitWarning(`${call} has no effect here: ${why}; see docs/hosted-task-files.md`, {
    code: 'ERR_HOSTED_ONLY',
    type: 'WaitpointWarning',
  })
}
