import { DeadlineQueue } from '../../src/primitives/deadline-queue.ts'
import { BinaryHeap } from '../bare/binary-heap.ts'
import type { Contest, Contestant } from '../contest.ts'
import type { Figure } from '../lab.ts'
import type { Goal, Measurement } from '../measurement.ts'

const DAY_MS = 86_400_000
const GOAL: Goal = { kind: 'ratio', most: 1.5 }

const contests = [
  deadlineContest('deadline armed and fired, at random', {
    ours: (count) => fireAll(() => new DeadlineQueue<number>(), randomInstants(count)),
    bare: (count) => fireAll(() => new BinaryHeap<number>(), randomInstants(count)),
  }),
  deadlineContest('deadline armed and fired, rising', {
    ours: (count) => fireAll(() => new DeadlineQueue<number>(), risingInstants(count)),
    bare: (count) => fireAll(() => new BinaryHeap<number>(), risingInstants(count)),
  }),
  deadlineContest('deadline canceled, at random', { ours: cancelAllOurs, bare: cancelAllBare }),
]

/** The queue of deadlines: a million armed and fired, and a million canceled. */
export const deadlines: Figure = {
  name: 'deadlines',
  contests,
  async measure(lab) {
    const measurements: Measurement[] = []
    for (const contest of contests) {
      const count = lab.count(contest.count)
      measurements.push({ what: contest.name, unit: 'ns', count, ...(await lab.hold(contest)), goal: GOAL })
    }
    return measurements
  },
}

function deadlineContest(name: string, sides: Contest<'ours' | 'bare'>['sides']): Contest<'ours' | 'bare'> {
  return { name, count: 1_000_000, rounds: 5, warmUps: 2, sides }
}

/** The operations of both queues. */
interface Queue {
  add(at: number, value: number): unknown
  popDue(now: number): { readonly value: number } | undefined
}

export function fireAll(createQueue: () => Queue, at: Float64Array): Contestant {
  return {
    pass: () => {
      const queue = createQueue()
      for (let index = 0; index < at.length; index++) queue.add(at[index] ?? 0, index)
      let fired = 0
      while (queue.popDue(DAY_MS) !== undefined) fired += 1
      if (fired !== at.length)
        throw new Error(`Cannot accept the queue: ${fired} of ${at.length} deadlines fired`)
    },
  }
}

export function cancelAllOurs(count: number): Contestant {
  const queue = new DeadlineQueue<number>()
  const at = randomInstants(count)
  const places = shuffledPlaces(count)
  const arm = (): ReturnType<typeof queue.add>[] =>
    Array.from(at, (instant, index) => queue.add(instant, index))
  let armed: ReturnType<typeof arm> = []
  return {
    before: () => {
      armed = arm()
    },
    pass: () => {
      for (const place of places) {
        const deadline = armed[place]
        if (deadline !== undefined) queue.cancel(deadline)
      }
      if (queue.size > 0)
        throw new Error(`Cannot accept the queue: ${queue.size} canceled deadlines are left`)
    },
  }
}

/** Marks each entry, then pops them all to release their memory, which the engine's queue does at once. */
export function cancelAllBare(count: number): Contestant {
  const heap = new BinaryHeap<number>()
  const at = randomInstants(count)
  const places = shuffledPlaces(count)
  const arm = (): ReturnType<typeof heap.add>[] =>
    Array.from(at, (instant, index) => heap.add(instant, index))
  let armed: ReturnType<typeof arm> = []
  return {
    before: () => {
      armed = arm()
    },
    pass: () => {
      for (const place of places) {
        const entry = armed[place]
        if (entry !== undefined) entry.isCanceled = true
      }
      if (heap.popDue(DAY_MS) !== undefined) throw new Error('Cannot accept the heap: deadlines are left')
    },
  }
}

export function randomInstants(count: number): Float64Array {
  return Float64Array.from({ length: count }, () => Math.floor(Math.random() * DAY_MS))
}

function risingInstants(count: number): Float64Array {
  return Float64Array.from({ length: count }, (_, index) => index)
}

/** Every index below `count`, in random order. */
function shuffledPlaces(count: number): Uint32Array {
  const places = Uint32Array.from({ length: count }, (_, index) => index)
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1))
    const place = places[last] ?? 0
    places[last] = places[other] ?? 0
    places[other] = place
  }
  return places
}
