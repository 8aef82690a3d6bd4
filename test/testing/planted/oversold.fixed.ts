import { ticketShop } from './oversold.ts'
import type { Planted } from './planted.ts'

/** The twin without the bug: one step looks and takes. */
export const oversold: Planted = {
  body: ticketShop((t, stock) =>
    t.step('take one', () => {
      if (stock.left === 0) return false
      stock.left -= 1
      return true
    }),
  ),
  options: {},
  breaks: 'the body holds',
}
