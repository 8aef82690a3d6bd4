import { seededRandom } from '../../clock/seeded-random.ts'
import type { Decider } from './decider.ts'
import type { Choice, Choose } from './trace.ts'

/** How often something rare happens where it can. */
const RARELY = { next: 1 / 3, fault: 1 / 12, crash: 1 / 16 }
/** About as many choices as a short body has: where the changes of priority fall. */
const STEPS = 64

/** Schedules at random, as many as the budget allows; the same ones for the same seed. */
export function random(seed: number | string): Decider {
  return endless(seed, (fraction) => {
    return ({ kind, options }) => (fraction() < RARELY[kind] ? below(options.length, fraction) : 0)
  })
}

/**
 * Schedules by priorities: everybody who calls gets a random one, the highest goes next, and at `depth - 1` random places
 * whoever is first falls behind. Finds orders that depend on one another in a few places sooner than chance does.
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
