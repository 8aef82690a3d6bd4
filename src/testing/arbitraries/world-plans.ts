import { array, type Arbitrary, constant, constantFrom, integer, oneof, record, subarray } from 'fast-check'
import type { Fault } from '../exploration/schedule.ts'

/** What the outside world does with one token. */
export interface TokenPlan {
  /** `twice`: two completions at once; `wrong-id`: of a token that does not exist; `late`: after the deadline. */
  readonly kind: 'complete' | 'twice' | 'never' | 'wrong-id' | 'late'
  /** From the moment it is asked for. */
  readonly afterMs: number
}

/** What the outside world may do with a token that has this much time. */
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

/** Which faults a storage has in a case: for the option `faults`. */
export function storageFaults(): Arbitrary<readonly Fault[]> {
  return subarray<Fault>(['error', 'lost', 'late'])
}

/** How long something outside takes; most often no time at all. */
export function latencies(mostMs: number = 10_000): Arbitrary<number> {
  return oneof(
    { arbitrary: constant(0), weight: 2 },
    { arbitrary: integer({ min: 0, max: mostMs }), weight: 1 },
  )
}

/** By how much the clock of another machine is off: often by nothing, or by just a lease. */
export function clockSkews(leaseMs: number = 30_000): Arbitrary<number> {
  return oneof(
    constantFrom(0, 1, -1, leaseMs, -leaseMs, leaseMs + 1, -leaseMs - 1),
    integer({ min: -2 * leaseMs, max: 2 * leaseMs }),
  )
}

/** How many chunks a stream gets at once, burst by burst: most of them just as many as its history holds. */
export function chunkBursts(capacity: number): Arbitrary<readonly number[]> {
  return array(around(capacity, 2 * capacity), { minLength: 1, maxLength: 4 })
}

function around(middle: number, most: number): Arbitrary<number> {
  const near = constantFrom(Math.max(0, middle - 1), middle, middle + 1)
  return oneof({ arbitrary: near, weight: 3 }, { arbitrary: integer({ min: 0, max: most }), weight: 1 })
}
