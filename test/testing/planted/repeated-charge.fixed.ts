import { task, wait } from 'waitpoint'
import type { Planted } from './planted.ts'

/** Charges with the id of the run as the key: the payment provider recognises a repeated charge. */
export const repeatedCharge: Planted = {
  body: async (t) => {
    const charges = new Set<string>()
    const pay = task({
      id: 'pay',
      run: async (_payload: null, { ctx }) => {
        await t.step('charge', () => void charges.add(ctx.run.id))
        const token = await wait.createToken({ tags: ['receipt'] })
        await wait.forToken(token)
      },
    })
    t.use(pay)
    const run = await t.engine.trigger(pay, null)
    await t.complete({ tag: 'receipt' })
    await run.outcome()
    if (charges.size !== 1) throw new Error(`charged ${charges.size} times`)
  },
  options: { crashes: 'every-commit' },
  breaks: 'the body holds',
}
