import type { Choice, Decider } from 'waitpoint/testing'

/**
 * Every schedule with at most so many departures, found without knowing what a departure is: it counts through all
 * sequences of indices, as an odometer does, and remembers nothing but how many options there were at each place.
 */
export function bruteForce(maxDeviations: number): Decider {
  let indices: readonly number[] | undefined = []
  return {
    isExhaustive: true,
    begin() {
      if (indices === undefined) return undefined
      const planned = indices
      let place = 0
      return (_choice: Choice) => planned[place++] ?? 0
    },
    end(decisions) {
      const taken = decisions.map(({ index }) => index)
      const sizes = decisions.map(({ choice }) => choice.options.length)
      indices = next(taken, sizes, maxDeviations)
    },
  }
}

function next(taken: readonly number[], sizes: readonly number[], most: number): number[] | undefined {
  for (let place = taken.length - 1; place >= 0; place--) {
    const before = taken.slice(0, place)
    const index = (taken[place] ?? 0) + 1
    const departures = before.filter((earlier) => earlier > 0).length
    if (index < (sizes[place] ?? 0) && departures < most) return [...before, index]
  }
  return undefined
}
