import { task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** Two requests for one basket look whether it is bought, and buy it. The basket of the twin is the key of the run. */
export const doubleClick: Twin = (isFixed) => {
  const buy = task({ id: 'buy', run: (basket: string) => basket })
  const body: Body = async (t) => {
    const bought = new Set<string>()
    const db = t.outside('baskets', {
      isBought: (basket: string) => Promise.resolve(bought.has(basket)),
      mark: (basket: string) => Promise.resolve(void bought.add(basket)),
    })
    const fetch = t.serve((engine) => async (request) => {
      const basket = await request.text()
      if (!isFixed && (await db.isBought(basket))) return new Response()
      await engine.trigger(buy, basket, isFixed ? { idempotencyKey: basket } : {})
      await db.mark(basket)
      return new Response()
    })
    const click = (): Promise<Response> => fetch('/buy', { method: 'POST', body: 'basket-1' })
    const first = click()
    await t.clock.sleep(200)
    await Promise.all([first, click()])
    const { data } = await t.engine.runs.list()
    if (data.length > 1) throw new Error(`the basket was bought ${data.length} times`)
  }
  return { body, options: { tasks: [buy] }, breaks: 'the body holds' }
}
