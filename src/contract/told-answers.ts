import type { RunAsked } from './storage.ts'
import { readEffect, toldIn } from './question-keys.ts'

/** The place of an answer among those that questions have told. `isLoose`: others may have come between, untold. */
export interface ToldAnswer {
  readonly place: number
  readonly isLoose: boolean
  /** Storage gave it together with the one before. */
  readonly isJoined: boolean
}

/** By mark, the answers that the questions of earlier executions have told. */
export type ToldAnswers = ReadonlyMap<string, ToldAnswer>

const MARK_LENGTH = 6
export const LOOSE = '+'
export const JOINED = '&'
/** Ends the mark of an answer of storage: the answer to the question comes later. */
const OF_STORAGE = '!'

/** The answers that the questions of an attempt have told. */
export function toldBefore({ tokens, runs }: RunAsked, policyAttempt: number): ToldAnswers {
  const asked = [...tokens, ...runs].toSorted((one, other) => (ageOf(one.id) < ageOf(other.id) ? -1 : 1))
  const told = asked.flatMap(({ key, tags }) => {
    const value = key?.value ?? ''
    // The tags of others are those of users.
    const texts = readEffect(value) === undefined ? [value] : tags
    return texts.flatMap((text) => toldIn(text, policyAttempt) ?? [])
  })
  return readTold(told)
}

/** What the questions of an attempt have told, from the first to the last: see `AnswerOrder.tell`. */
export function readTold(texts: readonly string[]): ToldAnswers {
  const told = new Map<string, ToldAnswer>()
  for (const text of texts) {
    const isLoose = text.startsWith(LOOSE)
    const marks = (isLoose ? text.slice(LOOSE.length) : text).split(',')
    for (const marked of marks) {
      const isJoined = marked.startsWith(JOINED)
      const mark = isJoined ? marked.slice(JOINED.length) : marked
      if (!told.has(mark)) told.set(mark, { place: told.size, isLoose, isJoined })
    }
  }
  return told
}

/** The part of an id that says when it was made: `01h…` of `waitpoint_01h…` and of `run:run_01h…`. */
export function ageOf(id: string): string {
  return id.slice(id.lastIndexOf('_') + 1)
}

/** Tells an answer from others of its attempt: the end of an id is random. */
export function markOf({ id, isOfStorage }: { readonly id: string; readonly isOfStorage?: boolean }): string {
  return ageOf(id).slice(-MARK_LENGTH) + (isOfStorage === true ? OF_STORAGE : '')
}
