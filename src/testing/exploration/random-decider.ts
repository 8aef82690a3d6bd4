import { seededRandom } from '../../clock/seeded-random.ts'
import type { Decider } from './decider.ts'
import type { Choice, Choose } from './trace.ts'

/** The probability of rare choices. */
const RARELY = { next: 1 / 3, fault: 1 / 12, crash: 1 / 16 }
/** About the number of choices in a short body: the range of the priority changes. */
const STEPS = 64

/** Random schedules, as many as the budget allows. They depend on the seed only. */
export function random(seed: number | string): Decider {
  return endless(seed, (fraction) => {
    return ({ kind, options }) => (fraction() < RARELY[kind] ? below(options.length, fraction) : 0)
  })
}

/**
 * Schedules by priority. Each caller gets a random priority, and the highest goes next; at `depth - 1` random points
 * the first caller falls behind. It finds orders that depend on a few points sooner than random choices do.
 *
 * After "A randomized scheduler with probabilistic guarantees of finding bugs" (S. Burckhardt et al., 2010).
 */
export function pct(seed: number | string, depth: number): Decider {
  return endless(seed, (fraction) => priorities(fraction, depth))
}

function priorities(fraction: () => number, depth: number): Choose {
  const ofActors = new Map<string, number>()
  const changes = new Set(Array.from({ length: depth - 1 }, () => below(STEPS, fraction)))
  let lowest = 0
  let steps = 0
  const priorityOf = (label: string): number => {
    const actor = label.slice(0, label.indexOf('/'))
    const known = ofActors.get(actor)
    if (known !== undefined) return known
    const made = fraction()
    ofActors.set(actor, made)
    return made
  }
  const first = (options: readonly string[]): number =>
    options.reduce((best, option, index) => {
      return priorityOf(option) > priorityOf(options[best] ?? option) ? index : best
    }, 0)
  return ({ kind, options }: Choice) => {
    if (kind !== 'next') return fraction() < RARELY[kind] ? below(options.length, fraction) : 0
    const index = first(options)
    steps += 1
    if (!changes.has(steps)) return index
    const label = options[index] ?? ''
    ofActors.set(label.slice(0, label.indexOf('/')), (lowest -= 1))
    return first(options)
  }
}

function endless(seed: number | string, begin: (fraction: () => number) => Choose): Decider {
  let schedules = 0
  return {
    isExhaustive: false,
    seed,
    begin() {
      const source = seededRandom(`${seed} ${schedules}`)
      schedules += 1
      return begin(() => source.fraction())
    },
  }
}

function below(count: number, fraction: () => number): number {
  return Math.floor(fraction() * count)
}
