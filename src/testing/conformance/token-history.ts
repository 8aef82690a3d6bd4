import { show } from './sameness.ts'

/**
 * One call about one token, with its place in the order in which calls were made and answered: a call that was answered
 * at a lower number than another one was made at came before it.
 */
export interface TokenCall {
  readonly what: string
  readonly madeAt: number
  readonly answeredAt: number
  /** What the answer says of the token, in full, once it is settled; none while it is open. */
  readonly settled: unknown
  /** The call says that it was the one that settled the token. */
  readonly settledNow: boolean
}

/**
 * What is wrong with the history of a token, if anything is. A token is written once, so that its history is
 * linearizable if and only if all answers that call it settled agree, exactly one call at most says that it settled it,
 * no call is answered that it is settled before that one was made, and no call that was made after such an answer says
 * that it is open. Linear in the number of calls.
 */
export function tokenHistoryFault(calls: readonly TokenCall[]): string | undefined {
  const settled = calls.filter((call) => call.settled !== undefined)
  const [first] = settled
  if (first === undefined) return undefined
  const odd = settled.find((call) => show(call.settled) !== show(first.settled))
  if (odd !== undefined)
    return `${first.what} was answered ${show(first.settled)}, but ${odd.what} ${show(odd.settled)}`

  const settlers = calls.filter((call) => call.settledNow)
  const [settler, second] = settlers
  if (second !== undefined) return `both ${settler?.what ?? ''} and ${second.what} say that they settled it`
  const known = settled.reduce((one, other) => (other.answeredAt < one.answeredAt ? other : one))
  if (settler !== undefined && known.answeredAt < settler.madeAt)
    return `${known.what} knew that it was settled before ${settler.what}, which settled it, was called`
  const late = calls.find((call) => call.settled === undefined && call.madeAt > known.answeredAt)
  if (late !== undefined)
    return `${late.what} found it open after ${known.what} had been answered that it was settled`
  return undefined
}
