import { task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** Two runs read a balance and write its sum. The statement of the twin adds. */
export const lostUpdate: Twin = (isFixed) => {
  const body: Body = async (t) => {
    let balance = 0
    const db = t.outside('account', {
      read: () => Promise.resolve(balance),
      write: (amount: number) => Promise.resolve(void (balance = amount)),
      add: (amount: number) => Promise.resolve(void (balance += amount)),
    })
    const deposit = task({
      id: 'deposit',
      run: async (amount: number) => {
        if (isFixed) await db.add(amount)
        else await db.write((await db.read()) + amount)
      },
    })
    t.use(deposit)
    const first = await t.engine.trigger(deposit, 5)
    await t.clock.sleep('1m')
    const second = await t.engine.trigger(deposit, 7)
    for (const run of [first, second]) await run.result()
    if (balance !== 12) throw new Error(`the balance is ${balance}`)
  }
  return { body, options: {}, breaks: 'the body holds' }
}
