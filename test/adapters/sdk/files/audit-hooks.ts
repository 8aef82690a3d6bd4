import { task, tasks } from '@trigger.dev/sdk'

/** What all tasks are audited for. */
export const audit: string[] = []

const audited = (id: string) => id.startsWith('audited-')

tasks.onStart('audit', ({ task: id, ctx }) => {
  if (audited(id)) audit.push(`start ${ctx.attempt.number}`)
})
tasks.onComplete('audit', ({ task: id, result }) => {
  if (audited(id)) audit.push(`complete ${result.ok}`)
})
tasks.catchError('audit', ({ task: id, error }) => {
  if (!audited(id)) return undefined
  audit.push(`error ${error instanceof Error ? error.message : ''}`)
  return error instanceof TypeError ? { skipRetrying: true } : undefined
})
tasks.onCancel(({ task: id }) => {
  if (audited(id)) audit.push('canceled')
})

export const audited1 = task({
  id: 'audited-transfer',
  retry: { maxAttempts: 2, minTimeoutInMs: 10 },
  run: async ({ kind }: { kind: 'fine' | 'type' | 'other' }) => {
    if (kind === 'type') throw new TypeError('wrong type')
    if (kind === 'other') throw new Error('other')
    return kind
  },
})
