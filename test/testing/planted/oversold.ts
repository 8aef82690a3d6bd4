import { task, wait } from 'waitpoint'
import type { Body, ExplorationTools } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** Takes a ticket, if there is one. */
export type Take = (t: ExplorationTools, stock: { left: number }) => Promise<boolean>

/** Two customers want the last ticket, one some minutes after the other. */
export function ticketShop(take: Take): Body {
  return async (t) => {
    const stock = { left: 1 }
    const buy = task({
      id: 'buy',
      run: async (minutes: number) => {
        await wait.for({ minutes })
        return take(t, stock)
      },
    })
    t.use(buy)
    const runs = [await t.engine.trigger(buy, 5), await t.engine.trigger(buy, 10)]
    const taken = [await runs[0]?.result(), await runs[1]?.result()].filter((isTaken) => isTaken === true)
    if (taken.length > 1) throw new Error(`${taken.length} customers have the last ticket`)
  }
}

/** Looks and takes: a slow customer takes what another one has taken since. */
export const oversold: Planted = {
  body: ticketShop(async (t, stock) => {
    const left = await t.step('look', () => stock.left)
    if (left === 0) return false
    await t.step('take one', () => void (stock.left = left - 1))
    return true
  }),
  options: {},
  breaks: 'the body holds',
}
