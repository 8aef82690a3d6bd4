import type { Planted } from './planted.ts'
import { inboxWorker } from './taken-off-too-early.ts'

/** The twin without the bug: it is done first, perhaps twice. */
export const takenOffTooEarly: Planted = {
  body: inboxWorker(async (t, { waiting, done }, job) => {
    await t.step('do it', () => void done.add(job))
    await t.step('take it off', () => void waiting.delete(job))
  }),
  options: { crashes: 'every-commit' },
  breaks: 'the body holds',
}
