import { task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A client sends its request again when it has got no response. The twin triggers with the key of the request. */
export const repeatedRequest: Twin = (isFixed) => {
  const order = task({ id: 'order', run: (item: string) => item })
  const body: Body = async (t) => {
    const web = t.startEngine('web', { execute: false })
    t.startEngine('worker')
    const fetch = t.serve(
      (engine) => async (request) => {
        const idempotencyKey = request.headers.get('idempotency-key') ?? ''
        const { id } = await engine.trigger(order, await request.text(), isFixed ? { idempotencyKey } : {})
        return Response.json({ id })
      },
      web,
    )
    const headers = { 'idempotency-key': 'order-1' }
    for (let isDone = false; !isDone;) {
      isDone = await fetch('/orders', { method: 'POST', headers, body: 'book' }).then(
        ({ ok }) => ok,
        () => false,
      )
    }
    const { data } = await web.runs.list()
    if (data.length > 1) throw new Error(`the book was ordered ${data.length} times`)
  }
  return { body, options: { tasks: [order], faults: ['lost-response'] }, breaks: 'the body holds' }
}
