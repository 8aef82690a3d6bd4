import { array, type Arbitrary, constant, constantFrom, integer, oneof, record, subarray } from 'fast-check'
import type { Fault } from '../exploration/schedule.ts'

/** The behaviour of the outside world towards one token. */
export interface TokenPlan {
  /**
   * `twice`: two completions at once; `wrong-id`: a completion of a token that does not exist; `late`: a completion
   * after the deadline.
   */
  readonly kind: 'complete' | 'twice' | 'never' | 'wrong-id' | 'late'
  /** Milliseconds after the token appears. */
  readonly afterMs: number
}

/** Behaviours of the outside world towards a token with this timeout. */
export function tokenPlans(timeoutMs: number): Arbitrary<TokenPlan> {
  return oneof(
    record({ kind: constantFrom('complete', 'twice', 'wrong-id'), afterMs: delaysAround(timeoutMs) }),
    record({ kind: constant('never'), afterMs: constant(0) }),
    record({ kind: constant('late'), afterMs: integer({ min: timeoutMs, max: 2 * timeoutMs }) }),
  )
}

/** Durations, most of them a millisecond before, at, or after a deadline. */
export function delaysAround(deadlineMs: number): Arbitrary<number> {
  return around(deadlineMs, 2 * deadlineMs)
}

/** Faults of a storage, for the option `faults`. */
export function storageFaults(): Arbitrary<readonly Fault[]> {
  return subarray<Fault>(['error', 'lost', 'late'])
}

/** Durations of work outside; most often zero. */
export function latencies(mostMs: number = 10_000): Arbitrary<number> {
  return oneof(
    { arbitrary: constant(0), weight: 2 },
    { arbitrary: integer({ min: 0, max: mostMs }), weight: 1 },
  )
}

/** Differences between the clocks of two machines; often zero, or exactly a lease. */
export function clockSkews(leaseMs: number = 30_000): Arbitrary<number> {
  return oneof(
    constantFrom(0, 1, -1, leaseMs, -leaseMs, leaseMs + 1, -leaseMs - 1),
    integer({ min: -2 * leaseMs, max: 2 * leaseMs }),
  )
}

/** Sizes of bursts of chunks; most often exactly the number of chunks that the history of the stream keeps. */
export function chunkBursts(capacity: number): Arbitrary<readonly number[]> {
  return array(around(capacity, 2 * capacity), { minLength: 1, maxLength: 4 })
}

function around(middle: number, most: number): Arbitrary<number> {
  const near = constantFrom(Math.max(0, middle - 1), middle, middle + 1)
  return oneof({ arbitrary: near, weight: 3 }, { arbitrary: integer({ min: 0, max: most }), weight: 1 })
}
