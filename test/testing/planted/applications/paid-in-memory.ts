import { task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A variable of a module knows which orders are paid, and is empty after a crash. The row of the twin is not. */
export const paidInMemory: Twin = (isFixed) => {
  const known = new Set<string>()
  const body: Body = async (t) => {
    known.clear()
    t.onRestart(() => known.clear())
    const rows = new Set<string>()
    let charges = 0
    const bank = t.outside('bank', {
      charge: () => Promise.resolve(void (charges += 1)),
      // A bank that knows the order charges it once.
      chargeOnce: (id: string) => {
        if (!rows.has(id)) charges += 1
        return Promise.resolve(void rows.add(id))
      },
    })
    const pay = task({
      id: 'pay',
      run: async (id: string) => {
        if (isFixed) await bank.chargeOnce(id)
        else if (!known.has(id)) await bank.charge()
        known.add(id)
        await wait.for({ seconds: 1 })
      },
    })
    t.use(pay)
    await (await t.engine.trigger(pay, 'order-1')).result()
    if (charges > 1) throw new Error(`the order was charged ${charges} times`)
  }
  return { body, options: { crashes: 'every-commit' }, breaks: 'the body holds' }
}
