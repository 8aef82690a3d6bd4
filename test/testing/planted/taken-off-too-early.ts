import { task } from 'waitpoint'
import type { Body, ExplorationTools } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** Jobs that wait, and those whose work is done. */
export interface Inbox {
  readonly waiting: Set<string>
  readonly done: Set<string>
}

/** Works off one job. */
export type Work = (t: ExplorationTools, inbox: Inbox, job: string) => Promise<void>

/** A run works off the jobs of an inbox outside of the engine. */
export function inboxWorker(work: Work): Body {
  return async (t) => {
    const inbox: Inbox = { waiting: new Set(['ada', 'bob']), done: new Set() }
    const empty = task({
      id: 'empty',
      run: async (_payload: null) => {
        for (const job of [...inbox.waiting]) await work(t, inbox, job)
      },
    })
    t.use(empty)
    const run = await t.engine.trigger(empty, null)
    await run.result()
    if (inbox.done.size < 2) throw new Error(`only ${[...inbox.done].join(' and ')} was done`)
  }
}

/** Takes the job off before it is done: a process that dies in between loses it. */
export const takenOffTooEarly: Planted = {
  body: inboxWorker(async (t, { waiting, done }, job) => {
    await t.step('take it off', () => void waiting.delete(job))
    await t.step('do it', () => void done.add(job))
  }),
  options: { crashes: 'every-commit' },
  breaks: 'the body holds',
}
