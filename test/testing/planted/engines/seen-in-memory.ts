import { task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A web process keeps in memory which webhooks it has seen, and loses that when it dies. The twin lets the storage know them. */
export const seenInMemory: Twin = (isFixed) => {
  const invoice = task({ id: 'invoice', run: (id: string) => id })
  const seen = new Set<string>()
  const body: Body = async (t) => {
    seen.clear()
    t.onRestart((engine) => {
      if (engine === 'web') seen.clear()
    })
    const web = t.startEngine('web', { execute: false })
    t.startEngine('worker')
    const fetch = t.serve(
      (engine) => async (request) => {
        const id = await request.text()
        if (!isFixed && seen.has(id)) return new Response()
        await engine.trigger(invoice, id, isFixed ? { idempotencyKey: id } : {})
        seen.add(id)
        return new Response()
      },
      web,
    )
    const deliver = (): Promise<boolean> =>
      fetch('/webhook', { method: 'POST', body: 'event-1' }).then(
        ({ ok }) => ok,
        () => false,
      )
    // A sender delivers until it has a response, and now and then once more.
    while (!(await deliver()));
    while (!(await deliver()));
    const { data } = await web.runs.list()
    if (data.length > 1) throw new Error(`the webhook was handled ${data.length} times`)
  }
  return { body, options: { tasks: [invoice], crashes: 'every-commit' }, breaks: 'the body holds' }
}
