import type { KeyRecord, RunRecord, TokenKind, TokenRecord } from '../../contract/records.ts'
import { runIdOfToken, runTokenId } from '../../contract/run-states.ts'
import type {
  Awaitable,
  Inserted,
  RunBinding,
  RunClaim,
  RunClaimed,
  RunInsert,
  RunUpdate,
  RunUpdated,
  Storage,
  TokenAwait,
  TokenAwaited,
  TokenInsert,
  TokenInserted,
} from '../../contract/storage.ts'
import { effectKey } from '../../contract/question-keys.ts'
import { chain } from '../../primitives/awaitable.ts'
import { memoryStorage } from '../../storage/memory/memory.ts'
import { childQuestion, type InFlightQuestion, newQuestion, tokenQuestion } from '../in-flight/question.ts'
import { type Operations, withOperations } from '../storages/wrapped.ts'
import type { RecordedQuestions } from './recorded-questions.ts'
import type { RecordedRun } from './recorded-run.ts'
import type { Difference } from './departure.ts'

const BEFORE_ALL = 0
const WRITER = 'a history'

/** Hears of the questions of a history that the run asks again. */
export interface QuestionListener {
  tokenAsked(record: TokenRecord): void
  /** `key`: of the question, which that of a debounced child is not. */
  childAsked(record: RunRecord, key: KeyRecord | undefined): void
}

export interface ReplayStorageOptions {
  readonly recorded: RecordedRun
  readonly questions: RecordedQuestions
  readonly answers: QuestionListener
  readonly departed: (difference: Difference) => void
  /** Whether tokens time out at the deadlines of the history, and a question that the history does not have is asked all the same. */
  readonly isOpen?: boolean
  /** Before a call of the run returns that asked a question. */
  readonly returns: (questionId: string) => Awaitable<unknown>
  /** Whether a child of the history ends before the call that triggers it returns. */
  readonly endsAtOnce: (child: RunRecord) => boolean
}

/**
 * A storage in memory with one run. What the run asks for gets the ids that it has in the history; it is settled by who
 * replays, and by no deadline unless it is open. Other runs are never executed.
 */
export class ReplayStorage {
  readonly storage: Storage
  readonly #memory = memoryStorage()
  readonly #recorded: RecordedRun
  readonly #questions: RecordedQuestions
  readonly #answers: QuestionListener
  readonly #departed: (difference: Difference) => void
  readonly #returns: (questionId: string) => Awaitable<unknown>
  readonly #endsAtOnce: (child: RunRecord) => boolean
  readonly #isOpen: boolean
  /** Deadlines as the history has them: they are shown, and do nothing. */
  readonly #deadlines = new Map<string, number>()
  /** Runs that were triggered and that the history does not have: most are never waited for. */
  readonly #strangers = new Map<string, RunRecord>()
  /** The runs that were triggered with a key. */
  readonly #byKey = new Map<string, RunRecord>()
  #isOver = false

  constructor(options: ReplayStorageOptions) {
    const { recorded, questions, answers, departed, isOpen = false, returns, endsAtOnce } = options
    this.#recorded = recorded
    this.#questions = questions
    this.#answers = answers
    this.#departed = departed
    this.#returns = returns
    this.#endsAtOnce = endsAtOnce
    this.#isOpen = isOpen
    // No run but the one is claimed, and it by a claim.
    const memory = { ...this.#memory, claimsNew: false, resumesWaiting: false }
    this.storage = withOperations(memory, this.#operations(memory))
  }

  /** Stores the run, for an engine to claim. */
  begin(): Awaitable<unknown> {
    const { record } = this.#recorded
    return this.#memory.runs.insert({ record, by: WRITER, now: record.updatedAt })
  }

  /** The run as it is now. */
  async run(): Promise<RunRecord> {
    const { record } = this.#recorded
    return (await this.#memory.runs.get(record.id)) ?? record
  }

  /** The tokens that the run waits for. */
  waits(): Awaitable<readonly TokenRecord[]> {
    return this.#memory.runs.waits(this.#recorded.record.id)
  }

  /** A token as it is now. */
  token(id: string): Awaitable<TokenRecord | undefined> {
    return chain(this.#memory.tokens.get(id, BEFORE_ALL), (read) => read?.record)
  }

  /** The effect of `once` under a key: its token, as the history has it. */
  effect(key: string): TokenRecord | undefined {
    return this.#recorded.tokens.find(
      ({ kind, runId, key: own }) =>
        kind === 'ONCE' && runId === this.#recorded.record.id && own?.value === effectKey(key),
    )
  }

  /** Answers a question that is open. */
  async settle(token: TokenRecord, { by, now }: Act): Promise<TokenRecord | undefined> {
    const { id, kind, status, outputJson, answeredJson } = token
    const isTimeOut = kind === 'MANUAL' && status === 'TIMED_OUT'
    const question = (await this.token(id))?.questionJson
    const answer = { outputJson, question, answeredJson, isTimeOut }
    const settled = await this.#memory.tokens.settle({ id, ...answer, by, now })
    return settled === undefined || settled === 'stale' || !settled.won ? undefined : settled.record
  }

  /** Ends a child. */
  async endChild(child: RunRecord, act: Act): Promise<RunRecord | undefined> {
    return (await this.#end(child, act))?.record
  }

  /** No call of the run is answered any more: it would go on. */
  stop(): void {
    this.#isOver = true
  }

  #operations({ runs, tokens }: Storage): Operations {
    return {
      'runs.insert': (request) => this.#answer(this.#insertRun(request)),
      'runs.get': (id, among) => this.#answer(runs.get(id, among)),
      'runs.update': (request) => runs.update(this.#timed(request)),
      'runs.claim': (request) => this.#claim(request),
      'tokens.insert': (request) => this.#answer(this.#insertToken(request)),
      'tokens.get': (...args) =>
        this.#answer(
          chain(this.#ensure(args[0]), () =>
            chain(tokens.get(...args), (read) => read && { ...read, record: this.#shown(read.record) }),
          ),
        ),
      'tokens.await': (request) => this.#answer(this.#await(request)),
      'tokens.settle': (request) =>
        this.#answer(chain(this.#ensure(request.id), () => tokens.settle(request))),
      // Other runs are not in the storage, and take what this one writes to their streams.
      'chunks.add': () => this.#answer('added' as const),
    }
  }

  #end(child: RunRecord, act: Act): Awaitable<RunUpdated | undefined> {
    return this.#memory.runs.update(endOfChild(child, act))
  }

  #answer<T>(answer: Awaitable<T>): Awaitable<T> {
    return chain(answer, (value) => (this.#isOver ? never<T>() : value))
  }

  #claim(request: RunClaim): Awaitable<RunClaimed> {
    return this.#isOver ? { runs: [], ended: [] } : this.#memory.runs.claim(request)
  }

  /** The next attempt of the policy begins when it began in the history, as far as that is known. */
  #timed(request: RunUpdate): RunUpdate {
    const { id, change, now } = request
    if (id !== this.#recorded.record.id || change.status !== 'DELAYED') return request
    const at = this.#beginningAfter(now)
    return at === undefined ? request : { ...request, change: { ...change, wakeAt: Math.max(now, at) } }
  }

  #beginningAfter(now: number): number | undefined {
    const starts = Array.from(this.#recorded.thrown.values(), ({ startedAt }) => startedAt)
    return starts.filter((at) => at > now).sort((one, other) => one - other)[0]
  }

  #insertRun(request: RunInsert): Awaitable<Inserted<RunRecord> | 'stale'> {
    const { claim: _claim, push: _push, bind, ...rest } = request
    if (bind !== undefined) return this.#insertBound(rest, bind)
    const { record } = rest
    const holder = record.key && this.#byKey.get(keyText(record.key))
    if (holder !== undefined) return { record: holder, isCached: true }
    const isOwn = record.parentId === this.#recorded.record.id
    const recorded = isOwn ? this.#questions.takeChild(record) : undefined
    return this.#insertChild(rest, { recorded, key: record.key })
  }

  /** A child that other triggers put off, too, so that several places may be bound to it. */
  #insertBound(request: RunInsert, bind: RunBinding): Awaitable<Inserted<RunRecord> | 'stale'> {
    const recorded = this.#questions.takeBound(bind)
    return chain(recorded && this.#memory.runs.get(recorded.id), (known) =>
      known === undefined
        ? this.#insertChild(request, { recorded, key: bind.key })
        : chain(this.#returns(runTokenId(known.id)), () => ({ record: known, isCached: true })),
    )
  }

  /** `recorded`: the child of the history, if it has one; `key`: of the question. */
  #insertChild(
    request: RunInsert,
    { recorded, key }: { readonly recorded: RunRecord | undefined; readonly key: KeyRecord | undefined },
  ): Awaitable<Inserted<RunRecord> | 'stale'> {
    const { record } = request
    const { id, createdAt } = recorded ?? record
    const made = { ...record, id, createdAt }
    return chain(this.#memory.runs.insert({ ...request, record: inert(made) }), (inserted) => {
      if (inserted === 'stale') return inserted
      if (record.key !== undefined) this.#byKey.set(keyText(record.key), made)
      const answer = { record: made, isCached: false }
      if (recorded === undefined) {
        this.#strangers.set(made.id, { ...made, key })
        return answer
      }
      if (this.#endsAtOnce(recorded)) return chain(this.#end(recorded, request), () => answer)
      this.#answers.childAsked(recorded, key)
      return chain(this.#returns(runTokenId(recorded.id)), () => answer)
    })
  }

  #insertToken(request: TokenInsert): Awaitable<TokenInserted | 'stale'> {
    const { record } = request
    const { kind, key, runId } = record
    const { tokens } = this.#memory
    if (runId !== this.#recorded.record.id) return tokens.insert(request)
    return chain(this.#holder(kind, key), (holder) => {
      if (holder !== undefined) return { record: this.#shown(holder), isCached: true }
      const recorded = this.#questions.takeToken(record)
      if (recorded === undefined && (kind === 'MANUAL' || kind === 'SLEEP'))
        return this.#newQuestion(tokenQuestion(record), record, () => tokens.insert(request))
      const made = recorded === undefined ? record : this.#made(record, recorded)
      return chain(tokens.insert({ ...request, record: made }), (inserted) => {
        if (inserted === 'stale' || recorded === undefined) return inserted
        const answer = { ...inserted, record: this.#shown(inserted.record) }
        if (kind === 'MANUAL' || kind === 'SLEEP') this.#answers.tokenAsked(recorded)
        return kind === 'MANUAL' || kind === 'BINDING'
          ? chain(this.#returns(recorded.id), () => answer)
          : answer
      })
    })
  }

  #holder(kind: TokenKind, key: TokenRecord['key']): Awaitable<TokenRecord | undefined> {
    if (key === undefined) return undefined
    const { scope, value } = key
    return chain(
      this.#memory.tokens.list({ kind, key: { scope, value } }, { limit: 1 }, BEFORE_ALL),
      ({ records: [holder] }) => holder,
    )
  }

  #made(question: TokenRecord, recorded: TokenRecord): TokenRecord {
    const { id, createdAt, kind, tags, timeoutAt, outputJson } = recorded
    const asked = { ...question, id, createdAt }
    if (kind === 'BINDING') return { ...asked, outputJson }
    if (this.#isOpen && kind !== 'ONCE') return { ...asked, tags, timeoutAt: timeoutAt ?? asked.timeoutAt }
    if (timeoutAt !== undefined) this.#deadlines.set(id, timeoutAt)
    return { ...asked, tags: kind === 'ONCE' ? asked.tags : tags, timeoutAt: undefined }
  }

  #shown(record: TokenRecord): TokenRecord {
    const timeoutAt = this.#deadlines.get(record.id)
    return timeoutAt === undefined || record.timeoutAt !== undefined ? record : { ...record, timeoutAt }
  }

  #await(request: TokenAwait): Awaitable<TokenAwaited> {
    const { tokenId } = request
    const stranger = this.#strangers.get(runIdOfToken(tokenId) ?? '')
    if (stranger !== undefined)
      return this.#newQuestion(childQuestion(stranger), stranger, () => this.#memory.tokens.await(request))
    return chain(this.#ensure(tokenId), () => this.#memory.tokens.await(request))
  }

  /** There is no answer to it: the replay is over. */
  #newQuestion<T>(
    question: InFlightQuestion,
    { key }: TokenRecord | RunRecord,
    ask: () => Awaitable<T>,
  ): Awaitable<T> {
    const expected = this.#questions.insteadOf(key)
    this.#departed({ reason: 'new-question', asked: newQuestion(question), expected })
    return this.#isOpen ? ask() : never()
  }

  /** A token that another made: it is there once the run looks for it. */
  #ensure(id: string): Awaitable<unknown> {
    const { record: run, tokens } = this.#recorded
    const foreign = tokens.find((token) => token.id === id && token.runId !== run.id)
    if (foreign === undefined) return undefined
    return chain(this.#memory.tokens.get(id, BEFORE_ALL), (known) => {
      if (known !== undefined) return undefined
      const { completedAt = Infinity } = foreign
      const timeoutAt = this.#isOpen ? foreign.timeoutAt : undefined
      if (timeoutAt === undefined && foreign.timeoutAt !== undefined)
        this.#deadlines.set(id, foreign.timeoutAt)
      const isSettled = completedAt <= run.updatedAt
      const open = { ...foreign, status: 'WAITING', outputJson: undefined, completedAt: undefined } as const
      const made = { ...(isSettled ? foreign : open), runId: undefined, key: undefined, timeoutAt }
      if (!isSettled) this.#answers.tokenAsked(foreign)
      return this.#memory.tokens.insert({ record: made, by: WRITER, now: run.updatedAt })
    })
  }
}

interface Act {
  readonly by: string
  readonly now: number
}

/** The end of a child, which is not executed. */
export function endOfChild({ id, status, outputJson, errorJson }: RunRecord, { by, now }: Act): RunUpdate {
  const change = { status, outputJson, errorJson, finishedAt: now }
  return { id, expected: { status: ['PENDING_VERSION'] }, change, by, now }
}

function keyText({ scope, value }: KeyRecord): string {
  return JSON.stringify([scope, value])
}

/** A run that no engine claims, and none takes up: it is of a version that no code is. */
function inert(record: RunRecord): RunRecord {
  const still = { status: 'PENDING_VERSION', version: 'a history', owner: undefined } as const
  return { ...record, ...still, slot: false, expiresAt: undefined }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined)
}
