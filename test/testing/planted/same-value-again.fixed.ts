import type { Planted } from './planted.ts'
import { assigned, theatre } from './same-value-again.ts'

/** The twin without the bug: versions are compared. */
export const sameValueAgain: Planted = {
  body: theatre((t, seat, read) =>
    t.step('assign the seat', () => {
      if (seat.version === read.version) assigned(seat, read)
    }),
  ),
  options: {},
  breaks: 'the body holds',
}
