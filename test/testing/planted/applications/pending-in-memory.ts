import { task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A map of a module knows the token of each order, and is empty after a crash. The twin asks the engine for the token. */
export const pendingInMemory: Twin = (isFixed) => {
  const tokens = new Map<string, string>()
  const approve = task({
    id: 'approve',
    run: async (order: string) => {
      const token = await wait.createToken({ timeout: '1h', tags: [order] })
      // A run that goes on after a crash comes by here too.
      if (!tokens.has(order)) tokens.set(order, token.id)
      await wait.forToken(token)
    },
  })
  const body: Body = async (t) => {
    tokens.clear()
    t.onRestart(() => tokens.clear())
    const fetch = t.serve((engine) => async (request) => {
      const order = await request.text()
      const [waiting] = (await engine.wait.listTokens({ tags: [order], status: 'WAITING' })).data
      const token = isFixed ? waiting?.id : tokens.get(order)
      if (token === undefined) return new Response(null, { status: 404 })
      await engine.wait.completeToken(token, 'yes')
      return new Response()
    })
    await t.engine.trigger(approve, 'order-1')
    const { id } = await t.waitingToken({ tag: 'order-1' })
    const response = await fetch('/approve', { method: 'POST', body: 'order-1' }).catch(() => undefined)
    const { status } = await t.engine.wait.retrieveToken(id)
    if (response?.status === 404 && status === 'WAITING') throw new Error('the order is not known')
  }
  return { body, options: { tasks: [approve], crashes: 'every-commit' }, breaks: 'the body holds' }
}
