import { losePatience } from '../../clock/patience.ts'
import { inputKey, type InputRead } from '../../contract/input-keys.ts'
import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { RunAsked } from '../../contract/storage.ts'
import { runTokenId } from '../../contract/run-states.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { childQuestion, type InFlightQuestion, tokenQuestion } from './question.ts'

/** Everything that a storage has of one run that waits. */
export interface RunInFlight {
  readonly record: RunRecord
  readonly asked: RunAsked
  /** The tokens that it waits for and that are not settled. */
  readonly waits: readonly TokenRecord[]
}

/**
 * - `reached`: everything that the run had asked was asked again, and its waits wait.
 * - `stood still`, `failed`, `returned`: the attempt ended before.
 * - `out of patience`: nothing has happened for a while.
 */
export type CourseEnd =
  | { readonly kind: 'reached' | 'returned' | 'out of patience' }
  | { readonly kind: 'stood still' | 'failed'; readonly errorJson: string }

/** How far a run has come that is executed on new code: to the wait that its storage has, or elsewhere. */
export class Course {
  readonly end: Promise<CourseEnd>
  readonly #settle: (end: CourseEnd) => void
  /** What was asked before and not yet again, by the id of its token. */
  readonly #expected: Map<string, InFlightQuestion>
  readonly #asked: ReadonlySet<string>
  /** The tokens that are expected to be waited for: to be asked for is not enough. */
  readonly #waited: ReadonlySet<string>
  readonly #patienceMs: number
  /** Calls of the source that are not answered. */
  #reads = 0
  #isParked = false
  #isOver = false
  #stopWaiting: () => void
  /** The first thing that the storage does not have and that came before the wait. */
  #detour: InFlightQuestion | undefined
  /** Like a detour, but no sign of other code: its key may have expired. */
  #mayBeDetour: InFlightQuestion | undefined

  constructor(stored: RunInFlight, patienceMs: number) {
    this.#expected = expectedOf(stored)
    this.#asked = new Set(this.#expected.keys())
    this.#waited = new Set(stored.waits.map(({ id }) => id))
    this.#patienceMs = patienceMs
    const { promise, resolve } = createDeferred<CourseEnd>()
    this.end = promise
    this.#settle = resolve
    this.#stopWaiting = this.#wait()
    if (this.#expected.size === 0) this.#finish({ kind: 'reached' })
  }

  /** The first of the questions that were not reached. */
  get expected(): InFlightQuestion | undefined {
    return [...this.#expected.values()][0]
  }

  /** What the new code asked or would execute before its wait. */
  get detour(): InFlightQuestion | undefined {
    return this.#detour ?? (this.#expected.size > 0 ? this.#mayBeDetour : undefined)
  }

  /** It has ended: no call of the run is answered any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  get isParked(): boolean {
    return this.#isParked
  }

  /** Whether it was asked before, and in this attempt of the policy. */
  hasAsked(tokenId: string): boolean {
    return this.#asked.has(tokenId)
  }

  /** A question was asked that the storage has. */
  askedAgain(tokenId: string): void {
    if (!this.#waited.has(tokenId)) this.#reach(tokenId)
    else this.goesOn()
  }

  /** A wait was registered, or its token is settled. */
  waitsFor(tokenId: string): void {
    this.#reach(tokenId)
  }

  /** A question was asked, or an effect begun, that the storage does not have. */
  departs(question: InFlightQuestion): void {
    if (this.#expected.size > 0) this.#detour ??= question
  }

  /** An object with a key that users chose is new: the storage does not have it, or no longer. */
  mayDepart(question: InFlightQuestion): void {
    if (this.#expected.size > 0) this.#mayBeDetour ??= question
  }

  park(): void {
    this.#isParked = true
  }

  resume(): void {
    this.#isParked = false
  }

  stop(end: CourseEnd): void {
    this.#finish(end)
  }

  /** Something was answered from the records: patience begins anew. */
  goesOn(): void {
    this.#stopWaiting()
    if (!this.#isOver) this.#stopWaiting = this.#wait()
  }

  /** The answer to a read of the source, for which there is all the time it takes. */
  reading<Answer>(answer: Promise<Answer>): Promise<Answer> {
    this.#reads += 1
    const answered = (): void => {
      this.#reads -= 1
    }
    answer.then(answered, answered)
    return answer
  }

  #reach(tokenId: string): void {
    if (!this.#expected.delete(tokenId)) return
    if (this.#expected.size === 0) this.#finish({ kind: 'reached' })
    else this.goesOn()
  }

  #finish(end: CourseEnd): void {
    this.#stopWaiting()
    this.#isOver = true
    this.#settle(end)
  }

  #wait(): () => void {
    return losePatience(this.#patienceMs, () => {
      if (this.#reads > 0) this.goesOn()
      else this.#finish({ kind: 'out of patience' })
    })
  }
}

/** The messages that a read was given. The reader knows its record, and asks for these. */
function givenIn({ tokens }: RunAsked, { outputJson = '{}' }: TokenRecord): readonly string[] {
  const { stream = '', taken = [] } = JSON.parse(outputJson) as Partial<InputRead>
  const keys = new Set(taken.map((n) => inputKey({ stream, n })))
  return tokens.filter(({ kind, key }) => kind === 'INPUT' && keys.has(key?.value ?? '')).map(({ id }) => id)
}

/** The questions of this attempt of the policy, and the waits, by the id of their token. */
function expectedOf({ record, asked, waits }: RunInFlight): Map<string, InFlightQuestion> {
  const prefix = `${record.policyAttempt}/`
  const expected = new Map<string, InFlightQuestion>()
  const isCurrent = ({ key }: Pick<TokenRecord, 'key'>): boolean => key?.value.startsWith(prefix) === true
  // What only tells is no question.
  const questions = asked.tokens.filter(({ kind }) => kind !== 'ONCE')
  for (const token of questions.filter(isCurrent))
    for (const id of token.kind === 'INPUT' ? givenIn(asked, token) : [token.id])
      expected.set(id, tokenQuestion(token))
  for (const child of asked.runs.filter(isCurrent)) expected.set(runTokenId(child.id), childQuestion(child))
  for (const token of waits) if (!expected.has(token.id)) expected.set(token.id, tokenQuestion(token))
  return expected
}
