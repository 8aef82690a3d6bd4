import { task, wait } from 'waitpoint'
import type { Planted } from './planted.ts'

/** Charges and then waits: an attempt after a crash charges again. */
export const repeatedCharge: Planted = {
  body: async (t) => {
    let charges = 0
    const pay = task({
      id: 'pay',
      run: async (_payload: null) => {
        await t.step('charge', () => void (charges += 1))
        const token = await wait.createToken({ tags: ['receipt'] })
        await wait.forToken(token)
      },
    })
    t.use(pay)
    const run = await t.engine.trigger(pay, null)
    await t.complete({ tag: 'receipt' })
    await run.outcome()
    if (charges !== 1) throw new Error(`charged ${charges} times`)
  },
  options: { crashes: 'every-commit' },
  breaks: 'the body holds',
}
