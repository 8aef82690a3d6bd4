import { task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A web process refunds an order that it saw waiting, and cancels it then. The twin refunds what it has canceled. */
export const refundBeforeCancel: Twin = (isFixed) => {
  const body: Body = async (t) => {
    const events: string[] = []
    const order = task({
      id: 'order',
      run: async (_payload: null) => {
        await wait.for({ hours: 1 })
        return 'shipped'
      },
    })
    t.use(order)
    t.startEngine('worker')
    const web = t.startEngine('web', { execute: false })
    const run = await web.trigger(order, null)
    await t.clock.sleep('59m')
    const isOpen = isFixed || !(await web.runs.retrieve(run)).isCompleted
    const refund = (): Promise<void> => t.step('refund', () => void events.push('refunded'))
    if (isOpen && !isFixed) await refund()
    await web.runs.cancel(run)
    const outcome = await run.outcome()
    if (outcome.ok) events.push(outcome.output)
    else if (isFixed) await refund()
    if (events.length > 1) throw new Error(`the order was ${events.join(' and ')}`)
  }
  return { body, options: {}, breaks: 'the body holds' }
}
