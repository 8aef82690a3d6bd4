import { task, wait } from 'waitpoint'
import type { Body, ExplorationTools } from 'waitpoint/testing'

/** Approves what waits for this token. */
export type Approve = (t: ExplorationTools, tokenId: string, ship: () => void) => Promise<void>

/** An order that is refunded when it is not approved within an hour; it must not be shipped as well. */
export function shop(approve: Approve): Body {
  return async (t) => {
    const done = new Set<string>()
    const order = task({
      id: 'order',
      run: async (_payload: null) => {
        const token = await wait.createToken({ timeout: '1h', tags: ['order'] })
        const { ok } = await wait.forToken(token)
        if (!ok) await t.step('refund', () => void done.add('refunded'))
      },
    })
    t.use(order)
    const run = await t.engine.trigger(order, null)
    const token = await t.waitingToken({ tag: 'order' })
    await t.clock.sleep('59m')
    await approve(t, token.id, () => void done.add('shipped'))
    await run.outcome()
    if (done.size > 1) throw new Error(`the order was ${[...done].join(' and ')}`)
  }
}
