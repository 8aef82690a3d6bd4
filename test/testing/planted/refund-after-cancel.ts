import { task, wait } from 'waitpoint'
import type { Body, ExplorationTools } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** Gives the money back for a canceled order. */
export type Refund = (t: ExplorationTools, done: Set<string>) => Promise<void>

/** An order that ships after a minute, and is canceled about then. */
export function canceledOrder(refund: Refund): Body {
  return async (t) => {
    const done = new Set<string>()
    const order = task({
      id: 'order',
      run: async (_payload: null) => {
        await wait.for({ minutes: 2 })
        await t.step('ship', () => {
          if (!done.has('refunded')) done.add('shipped')
        })
        return 'shipped'
      },
    })
    t.use(order)
    const run = await t.engine.trigger(order, null)
    await t.clock.sleep('1m')
    await t.engine.runs.cancel(run)
    const outcome = await run.outcome()
    if (!outcome.ok) await refund(t, done)
    if (done.size > 1) throw new Error(`the order was ${[...done].join(' and ')}`)
  }
}

/** A run that is canceled may have done its work already. */
export const refundAfterCancel: Planted = {
  body: canceledOrder((t, done) => t.step('refund', () => void done.add('refunded'))),
  options: {},
  breaks: 'the body holds',
}
