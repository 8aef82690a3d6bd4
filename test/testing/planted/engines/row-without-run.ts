import { task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/**
 * A web process stores an order, and triggers its run if the order is new. It may die between the two. The twin triggers by the
 * key of the order, new or not.
 */
export const rowWithoutRun: Twin = (isFixed) => {
  const fulfil = task({ id: 'fulfil', run: (id: string) => id })
  const body: Body = async (t) => {
    const rows = new Set<string>()
    const db = t.outside('orders', {
      has: (id: string) => Promise.resolve(rows.has(id)),
      insert: (id: string) => Promise.resolve(void rows.add(id)),
    })
    const web = t.startEngine('web', { execute: false })
    t.startEngine('worker')
    const fetch = t.serve(
      (engine) => async (request) => {
        const id = await request.text()
        const isKnown = await db.has(id)
        if (!isKnown) await db.insert(id)
        if (isFixed || !isKnown) await engine.trigger(fulfil, id, { idempotencyKey: id })
        return new Response()
      },
      web,
    )
    while (!(await fetch('/orders', { method: 'POST', body: 'order-1' }).then(isOk, isLost)));
    const { data } = await web.runs.list()
    if (data.length !== 1) throw new Error(`there is an order, and ${data.length} runs`)
  }
  return { body, options: { tasks: [fulfil], crashes: 'every-commit' }, breaks: 'the body holds' }
}

function isOk({ ok }: Response): boolean {
  return ok
}

function isLost(): boolean {
  return false
}
