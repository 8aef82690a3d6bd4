const actions: (() => void)[] = []

/** Does something when this process ends, also where a test runner ends its worker by a signal. */
export function atProcessEnd(action: () => void): void {
  if (actions.push(action) > 1) return
  process.once('exit', act)
  // It goes on to do what it would have done.
  process.once('SIGTERM', () => {
    act()
    process.kill(process.pid, 'SIGTERM')
  })
}

function act(): void {
  for (const action of actions.splice(0)) action()
}
