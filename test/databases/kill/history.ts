import { appendFileSync, readFileSync } from 'node:fs'
import type { TokenOperation } from '../../../src/testing/conformance/token-history.ts'

/** When the tokens of a history time out, as its calls say what time it is. */
export const DEADLINE = 1_000

/** What one call about one token saw. */
export interface Testimony {
  readonly token: string
  readonly operation: TokenOperation
}

export function writeDown(file: string, testimony: Testimony): void {
  appendFileSync(file, `${JSON.stringify(testimony)}\n`)
}

/** What all calls about each token saw. */
export function historiesIn(file: string): ReadonlyMap<string, readonly TokenOperation[]> {
  const histories = new Map<string, TokenOperation[]>()
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue
    // As a witness writes it down.
    const { token, operation } = JSON.parse(line) as Testimony
    const history = histories.get(token)
    if (history === undefined) histories.set(token, [operation])
    else history.push(operation)
  }
  return histories
}
