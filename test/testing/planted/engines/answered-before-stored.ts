import { task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A web process answers its client while the run is being triggered. The twin awaits the trigger. */
export const answeredBeforeStored: Twin = (isFixed) => {
  const order = task({ id: 'order', run: (item: string) => item })
  const body: Body = async (t) => {
    const web = t.startEngine('web', { execute: false })
    t.startEngine('worker')
    const fetch = t.serve(
      (engine) => async (request) => {
        const triggered = engine.trigger(order, await request.text(), { idempotencyKey: 'order-1' })
        if (isFixed) await triggered
        return new Response(null, { status: 202 })
      },
      web,
    )
    const isAccepted = await fetch('/orders', { method: 'POST', body: 'book' }).then(
      ({ status }) => status === 202,
      () => false,
    )
    await t.clock.sleep('1m')
    const { data } = await web.runs.list()
    if (isAccepted && data.length === 0) throw new Error('the order was accepted and is lost')
  }
  return { body, options: { tasks: [order], crashes: 'every-commit' }, breaks: 'the body holds' }
}
