import { findItem, type Few, withItem } from '../../primitives/few.ts'

/** Counts the waits of one kind in one attempt. */
export interface WaitPlace {
  readonly name: string
  next: number
}

/** The waits of an attempt, counted. Fields of the attempt itself: it is held for as long as the run waits. */
export interface WaitPlaces {
  /**
   * The next place of a token: what nearly all runs wait for, and nothing else. None while `onStart` is under way: that
   * is not called again after an interruption, and its waits have places of their own, below 0.
   */
  tokens: number | undefined
  places: Few<WaitPlace>
}

/** The place of a wait among those of its kind, in call order: part of its implicit key. */
export function nextPlace(attempt: WaitPlaces, kind: string): number {
  const isStarting = attempt.tokens === undefined
  if (kind === 'token' && attempt.tokens !== undefined) return attempt.tokens++
  const name = isStarting ? `onStart ${kind}` : kind
  const place = findItem(attempt.places, (one) => one.name === name) ?? { name, next: 0 }
  if (place.next === 0) attempt.places = withItem(attempt.places, place)
  const index = place.next++
  return isStarting ? -1 - index : index
}
