import { task } from 'waitpoint'
import type { Body, ExplorationTools } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** Adds an amount to the balance. */
export type Deposit = (t: ExplorationTools, account: { balance: number }, amount: number) => Promise<void>

/** Two runs pay into one account. */
export function bank(deposit: Deposit): Body {
  return async (t) => {
    const account = { balance: 0 }
    const pay = task({ id: 'pay', run: async (amount: number) => deposit(t, account, amount) })
    t.use(pay)
    const runs = [await t.engine.trigger(pay, 10), await t.engine.trigger(pay, 20)]
    for (const run of runs) await run.result()
    if (account.balance !== 30) throw new Error(`the balance is ${account.balance}`)
  }
}

/** Reads in one step and writes in another one: what was written in between is lost. */
export const lostUpdate: Planted = {
  body: bank(async (t, account, amount) => {
    const balance = await t.step('read the balance', () => account.balance)
    await t.step('write the balance', () => void (account.balance = balance + amount))
  }),
  options: {},
  breaks: 'the body holds',
}
