import { task, wait } from 'waitpoint'
import type { Body, ExplorationTools } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** Sends a letter, unless this attempt, or an earlier one, has. */
export type Remind = (t: ExplorationTools, send: (key: string) => void) => Promise<void>

/** A run that reminds of an unpaid bill after a week, by letters which the post office numbers. */
export function dunning(remind: Remind): Body {
  return async (t) => {
    const letters: string[] = []
    // The post office takes a letter with the same key once.
    const send = (key: string): void => {
      if (!letters.includes(key)) letters.push(key)
    }
    const bill = task({
      id: 'bill',
      run: async (_payload: null) => {
        await wait.for({ days: 7 })
        await remind(t, send)
      },
    })
    t.use(bill)
    const run = await t.engine.trigger(bill, null)
    await run.result()
    if (letters.length !== 1) throw new Error(`${letters.length} letters were sent`)
  }
}

/** The key of the letter is new in each attempt. */
export const remindedTwice: Planted = {
  body: dunning((t, send) => {
    const key = String(t.clock.now())
    return t.step('remind', () => send(key))
  }),
  options: { crashes: 'every-commit' },
  breaks: 'the body holds',
}
