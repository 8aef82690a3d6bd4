import type { StoredError } from '../../api/errors.ts'
import { isFinal, runTokenId } from '../../contract/run-states.ts'
import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import { ageOf, markOf, type ToldAnswers } from '../../core/attempt/answer-order.ts'
import { toldBefore } from '../../core/attempt/recall.ts'
import type { RecordedRun } from './recorded-run.ts'
import type { OpenOrders } from './open-orders.ts'

/** An answer that the run got, and when. */
export type RecordedAnswer = { readonly id: string; readonly at: number } & (
  | { readonly kind: 'token'; readonly record: TokenRecord }
  | { readonly kind: 'child'; readonly record: RunRecord }
  | { readonly kind: 'effect'; readonly outputJson: string | undefined }
  /** The effect threw, as far as a storage can know: its attempt did, with this error. */
  | { readonly kind: 'threw'; readonly error: StoredError }
  /** The effect threw and the attempt went on, or there was no need of its result: a storage does not know. */
  | { readonly kind: 'supposed' }
)

/** The answers of a history, in the order in which the run got them. */
export class RecordedAnswers {
  /** Asked, and not answered yet. */
  readonly #open = new Map<string, RecordedAnswer>()
  /** The tokens of effects of which the history does not know how they ended. */
  readonly #supposed = new Set<string>()
  readonly #run: RecordedRun
  readonly #orders: OpenOrders
  readonly #told = new Map<number, ToldAnswers>()

  constructor(run: RecordedRun, orders: OpenOrders) {
    this.#run = run
    this.#orders = orders
  }

  /** A question of the history was asked again. */
  tokenAsked(record: TokenRecord): void {
    const { id, status, completedAt, createdAt } = record
    if (status !== 'WAITING') this.#open.set(id, { kind: 'token', id, at: completedAt ?? createdAt, record })
  }

  childAsked(record: RunRecord): void {
    const id = runTokenId(record.id)
    const { status, finishedAt, createdAt } = record
    if (isFinal(status)) this.#open.set(id, { kind: 'child', id, at: finishedAt ?? createdAt, record })
  }

  /** The effect of a token was called again, in an attempt of the policy. */
  effectCalled(token: TokenRecord, policyAttempt: number): void {
    const answer = this.#endOf(token, policyAttempt)
    if (answer !== undefined) this.#open.set(token.id, answer)
    else if (isFinal(this.#run.end.status)) this.#supposed.add(token.id)
  }

  /** When the next answer comes to a question that was asked. */
  nextAt(policyAttempt: number): number | undefined {
    return this.#first(policyAttempt)?.at
  }

  /**
   * The next answer. Of several whose order nothing tells, the one that `orders` chooses. It may choose that an effect has
   * thrown as well, if the history does not know when.
   */
  take(policyAttempt: number): RecordedAnswer | undefined {
    const first = this.#first(policyAttempt)
    const supposed = Array.from(
      this.#supposed,
      (id) => ({ kind: 'supposed', id, at: first?.at ?? 0 }) as const,
    )
    const known = first === undefined ? [] : this.#candidates(first, policyAttempt)
    const all = [...known, ...supposed]
    const next = all.length === 0 ? undefined : all[this.#orders.choose(all.length)]
    if (next === undefined) return undefined
    this.#open.delete(next.id)
    this.#supposed.delete(next.id)
    return next
  }

  /**
   * What may come next, the likely ones first. The instant of an answer is when storage had it, and that of a throw when the
   * attempt was over: the function may have got it later, or thrown earlier. Only a question that came after it tells.
   */
  #candidates(first: RecordedAnswer, policyAttempt: number): readonly RecordedAnswer[] {
    const told = this.#toldOf(policyAttempt)
    if (told.has(markOf(first))) return [first]
    return [...this.#open.values()]
      .filter((other) => !told.has(markOf(other)))
      .sort((one, other) => (isBefore(one, other, told) ? -1 : 1))
  }

  #first(policyAttempt: number): RecordedAnswer | undefined {
    const told = this.#toldOf(policyAttempt)
    let first: RecordedAnswer | undefined
    for (const answer of this.#open.values())
      if (first === undefined || isBefore(answer, first, told)) first = answer
    return first
  }

  #endOf(token: TokenRecord, policyAttempt: number): RecordedAnswer | undefined {
    const { id, status, completedAt, createdAt, outputJson } = token
    const thrown = this.#run.thrown.get(policyAttempt)
    const at = completedAt ?? createdAt
    if (status === 'COMPLETED' && (thrown === undefined || at <= thrown.endedAt))
      return { kind: 'effect', id, at, outputJson }
    if (thrown === undefined || createdAt > thrown.endedAt) return undefined
    return { kind: 'threw', id, at: thrown.endedAt, error: thrown.error }
  }

  #toldOf(policyAttempt: number): ToldAnswers {
    const known = this.#told.get(policyAttempt)
    if (known !== undefined) return known
    const { record, tokens, children } = this.#run
    const own = tokens.filter(({ runId }) => runId === record.id)
    const told = toldBefore({ tokens: own, runs: children }, policyAttempt)
    this.#told.set(policyAttempt, told)
    return told
  }
}

/**
 * The order that the questions after them tell comes first, as in an attempt that is executed again. Else that of the
 * instants; of one instant the answer to the older question.
 */
function isBefore(one: RecordedAnswer, other: RecordedAnswer, told: ToldAnswers): boolean {
  const [a, b] = [told.get(markOf(one)), told.get(markOf(other))]
  if (a !== undefined && b !== undefined) return a.place < b.place
  if (a !== undefined && !a.isLoose) return true
  if (b !== undefined && !b.isLoose) return false
  return one.at === other.at ? ageOf(one.id) < ageOf(other.id) : one.at < other.at
}
