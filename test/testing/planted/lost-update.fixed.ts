import { bank } from './lost-update.ts'
import type { Planted } from './planted.ts'

/** The twin without the bug: the database adds. */
export const lostUpdate: Planted = {
  body: bank((t, account, amount) => t.step('add to the balance', () => void (account.balance += amount))),
  options: {},
  breaks: 'the body holds',
}
