import type { StoredError } from '../../api/errors.ts'
import { isFinal, runTokenId } from '../../contract/run-states.ts'
import type { KeyRecord, RunRecord, TokenRecord } from '../../contract/records.ts'
import { ageOf, markOf, type ToldAnswers } from '../../contract/told-answers.ts'
import { toldBefore } from '../../contract/told-answers.ts'
import type { HeldCalls } from './held-calls.ts'
import { questionParts } from './recorded-questions.ts'
import type { RecordedRun } from './recorded-run.ts'
import type { OpenOrders } from './open-orders.ts'

/** An answer that the run got, and when. */
export type RecordedAnswer = {
  readonly id: string
  readonly at: number
  /** The attempt of the policy that asked, and that alone may await it; none: any. */
  readonly askedIn?: number | undefined
} & (
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
  /** The tokens of effects of which the history does not know how they ended, and the attempt that called them. */
  readonly #supposed = new Map<string, number>()
  readonly #run: RecordedRun
  readonly #held: HeldCalls
  readonly #orders: OpenOrders | undefined
  readonly #told = new Map<number, ToldAnswers>()

  constructor(
    run: RecordedRun,
    { held, orders }: { readonly held: HeldCalls; readonly orders: OpenOrders | undefined },
  ) {
    this.#run = run
    this.#held = held
    this.#orders = orders
  }

  /** A question of the history was asked again. */
  tokenAsked(record: TokenRecord): void {
    const { id, status, completedAt, createdAt } = record
    const at = completedAt ?? createdAt
    if (status !== 'WAITING')
      this.#open.set(id, { kind: 'token', id, at, record, askedIn: this.#askedIn(record.key) })
  }

  /** `key`: of the question, which that of a debounced child is not. */
  childAsked(record: RunRecord, key: KeyRecord | undefined): void {
    const id = runTokenId(record.id)
    const { status, finishedAt, createdAt } = record
    const at = finishedAt ?? createdAt
    if (isFinal(status)) this.#open.set(id, { kind: 'child', id, at, record, askedIn: this.#askedIn(key) })
  }

  /** The effect of a token was called again, in an attempt of the policy. */
  effectCalled(token: TokenRecord, policyAttempt: number): void {
    const answer = effectEnd(this.#run, token, policyAttempt)
    // An earlier attempt may have called it, too.
    this.#supposed.delete(token.id)
    if (answer !== undefined) this.#open.set(token.id, { ...answer, askedIn: policyAttempt })
    else if (isFinal(this.#run.end.status)) this.#supposed.set(token.id, policyAttempt)
  }

  /** When the next answer comes to a question that was asked. */
  nextAt(policyAttempt: number): number | undefined {
    return this.#first(policyAttempt)?.at
  }

  /** Whether answers that the attempt may await come until an instant, perhaps only to calls that have not returned. */
  areNear(policyAttempt: number, until: number, { ofHeld }: { readonly ofHeld: boolean }): boolean {
    return [...this.#open.values()].some(
      (answer) => answer.at <= until && isOf(policyAttempt, answer) && (ofHeld || !this.#held.has(answer.id)),
    )
  }

  /**
   * The next answer. Of several whose order nothing tells, the one that `orders` chooses. It may choose that an effect has
   * thrown as well, if the history does not know when.
   */
  take(policyAttempt: number): RecordedAnswer | undefined {
    const first = this.#first(policyAttempt)
    const at = first?.at ?? 0
    const supposed = Array.from(
      this.#supposed,
      ([id, askedIn]) => ({ kind: 'supposed', id, at, askedIn }) as const,
    )
    const known = first === undefined ? [] : this.#candidates(first, policyAttempt)
    const all = [...known, ...supposed.filter((one) => isOf(policyAttempt, one))]
    const next = all.length === 0 ? undefined : all[this.#orders?.choose(all.length) ?? 0]
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
    const isOpen = (answer: RecordedAnswer): boolean =>
      isOf(policyAttempt, answer) && !told.has(markOf(answer))
    if (this.#orders === undefined || !isOpen(first)) return [first]
    return [...this.#open.values()]
      .filter((other) => isOpen(other) && !this.#held.has(other.id))
      .sort((one, other) => (isBefore(one, other, told) ? -1 : 1))
  }

  #first(policyAttempt: number): RecordedAnswer | undefined {
    const told = this.#toldOf(policyAttempt)
    let first: RecordedAnswer | undefined
    for (const answer of this.#open.values()) {
      if (this.#held.has(answer.id)) continue
      if (first === undefined || isBefore(answer, first, told)) first = answer
    }
    return first
  }

  #askedIn(key: KeyRecord | undefined): number | undefined {
    return questionParts(this.#run.record.id, key)?.policyAttempt
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

/** How the effect of a token ended that an attempt of the policy called, as far as the history knows. */
export function effectEnd(
  { thrown: all }: RecordedRun,
  { id, status, completedAt, createdAt, outputJson }: TokenRecord,
  policyAttempt: number,
): Extract<RecordedAnswer, { readonly kind: 'effect' | 'threw' }> | undefined {
  const thrown = all.get(policyAttempt)
  const at = completedAt ?? createdAt
  if (status === 'COMPLETED' && (thrown === undefined || at <= thrown.endedAt))
    return { kind: 'effect', id, at, outputJson }
  if (thrown === undefined || createdAt > thrown.endedAt) return undefined
  return { kind: 'threw', id, at: thrown.endedAt, error: thrown.error }
}

/** Whether an attempt of the policy may await an answer. */
function isOf(policyAttempt: number, { askedIn }: RecordedAnswer): boolean {
  return askedIn === undefined || askedIn === policyAttempt
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
