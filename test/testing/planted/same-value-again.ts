import { task } from 'waitpoint'
import type { Body, ExplorationTools } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** The seat of a theatre, and its waiting list. */
export interface Seat {
  holder: string
  /** Changes with each change of the holder. */
  version: number
  readonly letters: string[]
}

/** Gives the seat to the first of the waiting list, if nothing has changed since it was read. */
export type Assign = (t: ExplorationTools, seat: Seat, read: Readonly<Seat>) => Promise<void>

/** One run assigns the free seat; meanwhile it is sold and given back, so that another guest is first on the list. */
export function theatre(assign: Assign): Body {
  return async (t) => {
    const seat: Seat = { holder: 'free', version: 1, letters: [] }
    const give = task({
      id: 'give',
      run: async (_payload: null) => {
        const read = await t.step('read the seat', () => ({ ...seat }))
        if (read.holder === 'free') await assign(t, seat, read)
      },
    })
    const sell = task({
      id: 'sell',
      run: async (_payload: null) => {
        const isSold = await t.step('sell the seat', () => hold(seat, 'free', 'bob'))
        if (isSold) await t.step('give the seat back', () => hold(seat, 'bob', 'free'))
      },
    })
    t.use(give, sell)
    const runs = [await t.engine.trigger(give, null), await t.engine.trigger(sell, null)]
    for (const run of runs) await run.result()
    for (const letter of seat.letters) throw new Error(letter)
  }
}

function hold(seat: Seat, from: string, to: string): boolean {
  if (seat.holder !== from) return false
  seat.holder = to
  seat.version += 1
  return true
}

/** Assigns the seat by what was read of version `read`. */
export function assigned(seat: Seat, read: Readonly<Seat>): void {
  if (seat.version !== read.version) seat.letters.push('the seat was assigned by an old waiting list')
  hold(seat, 'free', 'ann')
}

/** Equal values are not equal states: the seat was sold and given back in between. */
export const sameValueAgain: Planted = {
  body: theatre((t, seat, read) =>
    t.step('assign the seat', () => {
      if (seat.holder === read.holder) assigned(seat, read)
    }),
  ),
  options: {},
  breaks: 'the body holds',
}
