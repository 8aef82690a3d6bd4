import { EventEmitter, once } from 'node:events'
import { task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A mail with a link is sent before the row that the link leads to is written. The twin writes first. */
export const mailBeforeRow: Twin = (isFixed) => {
  const body: Body = async (t) => {
    const tokens = new Map<string, string>()
    const db = t.outside('links', {
      get: (order: string) => Promise.resolve(tokens.get(order)),
      insert: (order: string, token: string) => Promise.resolve(void tokens.set(order, token)),
    })
    const smtp = new EventEmitter()
    const mailed = once(smtp, 'mail')
    const mails = t.outside('mails', { send: (order: string) => Promise.resolve(smtp.emit('mail', order)) })
    const approve = task({
      id: 'approve',
      run: async (order: string) => {
        const token = await wait.createToken({ timeout: '1h' })
        if (isFixed) await db.insert(order, token.id)
        await mails.send(order)
        if (!isFixed) await db.insert(order, token.id)
        return (await wait.forToken(token)).ok
      },
    })
    t.use(approve)
    const fetch = t.serve((engine) => async (request) => {
      const token = await db.get(await request.text())
      if (token === undefined) return new Response(null, { status: 404 })
      await engine.wait.completeToken(token, 'yes')
      return new Response()
    })
    const run = await t.engine.trigger(approve, 'order-1')
    await mailed
    const { status } = await fetch('/approve', { method: 'POST', body: 'order-1' })
    if (status === 404) throw new Error('the link of the mail leads nowhere')
    await run.outcome()
  }
  return { body, options: {}, breaks: 'the body holds' }
}
