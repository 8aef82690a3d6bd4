import { requireJoining } from '../../api/token.ts'
import type { QuestionOptions } from '../../api/question.ts'
import type { StandardSchemaV1 } from '../../api/standard-schema.ts'
import { isStandardSchema } from '../../questions/answer-schema.ts'
import type { KeyRecord, TokenRecord } from '../../contract/records.ts'
import type { Awaitable, Inserted, TokenRead, TokenSettle, TokenSettled } from '../../contract/storage.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import { idOf, requireOptions, show } from '../../primitives/require.ts'
import type { OptionNames } from '../../primitives/require.ts'
import { completedToken } from '../views/question.ts'
import { CreatedTokenView, tokenSettlement, viewRetrievedToken } from '../views/token.ts'
import type { CountTokensParams, TokenCounts } from '../../api/counts.ts'
import type { CursorPagePromise } from '../../api/cursor-page.ts'
import type { Kernel } from '../kernel.ts'
import { COUNTS, QUESTIONS, TOKEN_CHANGES } from './late-calls.ts'
import { readTags, userKey } from './new-run.ts'
import type { GivenAnswer } from '../attempt/answer-order.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { fenceOf, liveAttempt } from '../attempt/attempt.ts'
import { afterTurn } from '../host/breath.ts'
import { fromJson, toJson } from '../../api/serialize.ts'
import type { Values } from '../../api/values.ts'
import type { ResumeOffer } from '../slots/slots.ts'
import type {
  CompletedToken,
  CompleteTokenOptions,
  LinkedToken,
  CreateTokenOptions,
  Duration,
  ForTokenOptions,
  IdempotencyOptions,
  ListTokensParams,
  RetrievedToken,
  SubscribeToTokensParams,
  Token,
  TokenLinks,
  TokenReference,
  TokenSignal,
  TypedToken,
  WaitForOptions,
  EngineWaitNamespace,
  WaitPromise,
  WaitResult,
  WaitUntilOptions,
  ReassignTokenOptions,
  WithdrawTokenOptions,
} from '../../api/token.ts'
import type { TokenChanger } from './change-token.ts'
import { askToken, beginWait, type NewToken, placeInRun, readTimeout } from './asked-wait.ts'
import { sleepFor, sleepUntil } from './sleeps.ts'
import { listTokens } from './token-list.ts'
import { subscribeToToken, subscribeToTokens } from './token-subscription.ts'
import { UnknownAnswerer } from '../views/unknown-answerer.ts'
import { TokenSchemas } from './question-schema.ts'
import { passPlace } from '../waits/key.ts'
import type { AskedWait } from '../../contract/question-keys.ts'
import { Listener } from '../waits/listener.ts'
import type { ReadSettlement } from '../waits/waiter.ts'
import { tokenNotFound } from '../../api/not-found.ts'
import { GET_TOKEN, INSERT_TOKEN, SETTLE_TOKEN } from '../host/storage-calls.ts'
import { TOKEN_ID_START } from '../../contract/id-prefixes.ts'

const DEFAULT_TIMEOUT_MS = 600_000
const MOST_WAITERS = 100

const KEY_NAMES: OptionNames<IdempotencyOptions> = { idempotencyKey: true, idempotencyKeyTTL: true }
const QUESTION_NAMES: OptionNames<QuestionOptions> = {
  message: true,
  schema: true,
  data: true,
  choices: true,
  approvers: true,
  onTimeoutText: true,
}
const CREATE_NAMES: OptionNames<CreateTokenOptions> = /* @__PURE__ */ Object.assign(
  { timeout: true, tags: true, name: true },
  KEY_NAMES,
  QUESTION_NAMES,
)
const COMPLETE_NAMES: OptionNames<CompleteTokenOptions> = { transaction: true, by: true }
const FOR_TOKEN_NAMES: OptionNames<ForTokenOptions> = /* @__PURE__ */ Object.assign(
  { name: true, signal: true },
  KEY_NAMES,
)

/** The arguments of `completeToken`. */
interface Completion {
  readonly token: TokenReference
  readonly output: unknown
  readonly options: CompleteTokenOptions
  /** What the answer was checked against. */
  readonly question?: string | undefined
  /** The output as it was checked: what the caller does to it meanwhile does not count. */
  readonly outputJson?: string | undefined
  readonly answeredJson?: string
}

/** An answer that is still to be checked against the question of its token. */
interface UncheckedAnswer {
  readonly record: TokenRecord
  readonly outputJson: string | undefined
}

/** A question that is to be made. */
interface NewQuestion {
  readonly options: CreateTokenOptions
  readonly past: RangeError | undefined
  readonly isKeyed: boolean
}

/** Tokens and waits of one engine. */
export class EngineWait implements EngineWaitNamespace {
  readonly #kernel: Kernel
  readonly #values: Values
  /** Of the questions that this process has asked. */
  readonly #schemas = new TokenSchemas()
  readonly #readToken: ReadSettlement<WaitResult<unknown>, unknown>

  constructor(kernel: Kernel, values: Values) {
    this.#kernel = kernel
    this.#values = values
    this.#readToken = (record) => tokenSettlement(record, values)
  }

  createToken(options: CreateTokenOptions = {}): Promise<LinkedToken> {
    return this.#kernel.call((scope) => this.#createToken(scope, options))
  }

  #createToken(scope: Attempt | undefined, options: CreateTokenOptions): Awaitable<LinkedToken> {
    requireOptions(options, 'the options of wait.createToken', CREATE_NAMES)
    const { timeout = DEFAULT_TIMEOUT_MS } = options
    const now = this.#kernel.host.now()
    const { timeoutAt, past } = readTimeout(timeout, now)
    const tags = readTags(options.tags)
    const key = userKey(options, 'tokens', now) ?? placeInRun(this.#kernel, scope, tokenWait(options, tags))
    // A token that is found by its place in the run was not asked for by a key.
    const isKeyed = key?.expiresAt !== undefined
    if (isKeyed) passPlace('token')
    const token = { asks: 'token', kind: 'MANUAL', timeoutAt, timeout, tags, key, now, scope } as const
    if (asksSomething(options)) return this.#ask(token, { options, past, isKeyed })
    const inserted = askToken(this.#kernel, token, past)
    return isPromise(inserted)
      ? this.#createdLater(scope, inserted, isKeyed)
      : this.#created(inserted, isKeyed)
  }

  /** Makes a question: a token that knows what it asks. */
  #ask(token: NewToken, { options, past, isKeyed }: NewQuestion): Awaitable<LinkedToken> {
    const isPlaced = token.key !== undefined && !isKeyed
    const question = QUESTIONS.use((questions) => questions.toQuestion(options, this.#values, isPlaced))
    return chain(question, ({ questionJson, refused }) => {
      const asked = questionJson === undefined ? token : { ...token, questionJson }
      const inserted = askToken(this.#kernel, asked, past ?? refused)
      const created = isPromise(inserted)
        ? this.#createdLater(token.scope, inserted, isKeyed)
        : this.#created(inserted, isKeyed)
      return chain(created, (made) => this.#keepSchema(made, options))
    })
  }

  #keepSchema(created: LinkedToken, { schema }: CreateTokenOptions): LinkedToken {
    // A token that a key has found keeps the schema it was made with.
    const isKept = created.isCached && this.#schemas.of(created) !== undefined
    if (isStandardSchema(schema) && !isKept) this.#schemas.keep(created, schema)
    return created
  }

  /** Apart from `#createToken`, which would pay for what this captures. */
  #createdLater(
    scope: Attempt | undefined,
    inserted: Promise<Inserted<TokenRecord>>,
    isKeyed: boolean,
  ): Promise<LinkedToken> {
    const answer = scope === undefined ? inserted : scope.inTurn(inserted, madeAt)
    return answer.then((made) => this.#created(made, isKeyed))
  }

  #created({ record, isCached }: Inserted<TokenRecord>, isKeyed: boolean): LinkedToken {
    return new CreatedTokenView(record, isKeyed && isCached, this.#kernel.credentials)
  }

  forToken<Output = unknown>(
    token: TokenReference | TypedToken<Output>,
    options: ForTokenOptions = {},
  ): WaitPromise<Output> {
    const schema = this.#schemas.of(token)
    // The output is of the type that the caller names.
    const read = (schema === undefined ? this.#readToken : this.#reader(schema)) as ReadSettlement<
      WaitResult<Output>,
      Output
    >
    return beginWait(
      this.#kernel,
      { what: 'wait.forToken', options, names: FOR_TOKEN_NAMES, read },
      (scope) => this.#awaitedToken(scope, token, options),
    )
  }

  /** Reads the answer as the schema of the task makes it. */
  #reader(schema: StandardSchemaV1): ReadSettlement<WaitResult<unknown>, unknown> {
    return (record) => {
      const settlement = tokenSettlement(record, this.#values)
      if ('error' in settlement) return settlement
      const made = QUESTIONS.use((questions) => questions.outputBy(schema, record, settlement.output))
      return chain(made, (output) => ({ result: { ...settlement.result, output }, output }))
    }
  }

  #awaitedToken(scope: Attempt, token: TokenReference, options: ForTokenOptions): Awaitable<string> {
    const id = tokenId(token)
    const { name } = options
    const isNamed = name !== undefined && !hasKey(options)
    // The end of an id tells tokens apart, and a run may wait for thousands.
    if (!isNamed) passPlace('forToken', id.slice(-12))
    const key = isNamed
      ? placeInRun(this.#kernel, scope, { kind: 'forToken', name, content: undefined })
      : hasKey(options)
        ? userKey(options, 'bindings', this.#kernel.host.now())
        : undefined
    return key === undefined ? id : this.#bind(scope, id, key)
  }

  signal<Output = unknown>(token: TokenReference): Promise<TokenSignal<Output>> {
    return this.#kernel.call(() => {
      const scope = this.#kernel.requireRunning('wait.signal')
      const id = tokenId(token)
      const listener = new Listener(scope, (record) => tokenSettlement<Output>(record, this.#values))
      void this.#kernel.waitpoints.wait(listener, () => id)
      return listener.begun
    })
  }

  completeToken(
    token: TokenReference,
    output?: unknown,
    options: CompleteTokenOptions = {},
  ): Promise<CompletedToken> {
    return this.#kernel.call((scope) => {
      const completion = { token, output, options }
      const turn = scope && this.#kernel.breath.turn(scope)
      return turn === undefined
        ? this.#complete(scope, completion)
        : this.#completeBefore(turn, scope, completion)
    })
  }

  /** Apart from `completeToken`, which would pay for what this captures. */
  #completeBefore(
    turn: Promise<void>,
    scope: Attempt | undefined,
    completion: Completion,
  ): Promise<CompletedToken> {
    return afterTurn(turn, () => this.#complete(scope, completion))
  }

  #complete(scope: Attempt | undefined, completion: Completion): Awaitable<CompletedToken> {
    const id = tokenId(completion.token)
    const { options } = completion
    requireOptions(options, 'the options of wait.completeToken', COMPLETE_NAMES)
    const { by } = options
    // A plain token says nothing of the way alone.
    if (by === undefined || by instanceof UnknownAnswerer) return this.#settle(scope, id, completion)
    const answered = QUESTIONS.use((questions) => questions.answeredJson(by))
    return chain(answered, (answeredJson) => this.#settle(scope, id, { ...completion, answeredJson }))
  }

  #settle(scope: Attempt | undefined, id: string, completion: Completion): Awaitable<CompletedToken> {
    const { host } = this.#kernel
    const { output, options, question, answeredJson } = completion
    const { transaction } = options
    if (transaction !== undefined) requireJoining(host.storage, `complete token "${id}"`)
    const subject = 'the output of token'
    const outputJson = completion.outputJson ?? toJson(this.#values.encode(output, subject, id), subject, id)
    const offer = transaction === undefined ? this.#offer(id) : undefined
    const now = host.now()
    const resume = offer?.run
    const fence = fenceOf(scope)
    const request = {
      id,
      outputJson,
      question,
      answeredJson,
      fence,
      transaction,
      resume,
      by: host.owner,
      now,
    }
    const settled = this.#kernel.written(scope, SETTLE_TOKEN, request)
    if (isPromise(settled))
      return this.#answeredLater(this.#completedLater(settled, request, offer), scope, completion)
    const completed = this.#completed(settled, request, offer)
    return isQuestion(completed) ? this.#answer(scope, completion, completed) : completed
  }

  /** Apart from `#settle`, which would pay for what this captures. */
  #answeredLater(
    settled: Promise<CompletedToken | UncheckedAnswer>,
    scope: Attempt | undefined,
    completion: Completion,
  ): Promise<CompletedToken> {
    return settled.then((completed) =>
      isQuestion(completed) ? this.#answer(scope, completion, completed) : completed,
    )
  }

  /** Completes a question that the answer fits. It may have changed meanwhile, and is then looked at again. */
  #answer(
    scope: Attempt | undefined,
    completion: Completion,
    { record, outputJson }: UncheckedAnswer,
  ): Awaitable<CompletedToken> {
    const answer = {
      outputJson,
      by: completion.options.by,
      schema: this.#schemas.of(completion.token) ?? this.#schemas.of(record),
      values: this.#values,
    }
    const turn = this.#kernel.portions.take(outputJson?.length ?? 0, scope)
    const check = (): Awaitable<string | undefined> =>
      QUESTIONS.use((questions) => questions.checkAnswer(record, answer))
    return chain(chain(turn, check), (answeredJson) => {
      const checked = { ...completion, outputJson, question: record.questionJson }
      return this.#settle(
        scope,
        record.id,
        answeredJson === undefined ? checked : { ...checked, answeredJson },
      )
    })
  }

  /** If it fails, it may be stored all the same: the next tick then tells the runs that wait for it. */
  #completedLater(
    settled: Promise<TokenSettled | undefined>,
    request: TokenSettle,
    offer: ResumeOffer | undefined,
  ): Promise<CompletedToken | UncheckedAnswer> {
    const { ticker, slots } = this.#kernel
    settled.catch(() => {
      if (offer !== undefined) slots.answered(offer, undefined)
      ticker.answerLost('a completion that failed')
    })
    return settled.then((answer) => this.#completed(answer, request, offer))
  }

  #completed(
    answer: TokenSettled | undefined,
    { id, outputJson, transaction }: TokenSettle,
    offer: ResumeOffer | undefined,
  ): CompletedToken | UncheckedAnswer {
    const { publisher, ticker, slots } = this.#kernel
    if (offer !== undefined) slots.answered(offer, answer?.resumed)
    if (answer === undefined || answer.record.kind !== 'MANUAL') throw tokenNotFound(id)
    const { record, won } = answer
    if (record.status === 'WAITING') return { record, outputJson }
    // It has not happened yet, and may never: the storage tells the runs that wait for it when it has.
    if (transaction !== undefined) return completedToken(record, won)
    if (answer.settledNow) publisher.token(record)
    if (offer !== undefined) slots.goOn(offer)
    ticker.notDue(record.timeoutAt)
    return completedToken(record, won)
  }

  /** A run that the completion of the token may resume. */
  #offer(id: string): ResumeOffer | undefined {
    const { waitpoints, slots } = this.#kernel
    const attempt = waitpoints.waiting(id)
    return attempt && slots.offer(attempt)
  }

  withdrawToken(token: TokenReference, options: WithdrawTokenOptions = {}): Promise<CompletedToken> {
    return this.#change(token, (change) => change.withdrawToken(options))
  }

  extendToken(token: TokenReference, timeout: Duration | Date): Promise<CompletedToken> {
    return this.#change(token, (change) => change.extendToken(timeout))
  }

  reassignToken(
    token: TokenReference,
    approvers: readonly string[],
    options: ReassignTokenOptions = {},
  ): Promise<CompletedToken> {
    return this.#change(token, (change) => change.reassignToken(approvers, options))
  }

  #change(
    token: TokenReference,
    call: (change: TokenChanger) => Promise<CompletedToken>,
  ): Promise<CompletedToken> {
    return this.#kernel.call(() =>
      TOKEN_CHANGES.use((changes) => call(new changes.TokenChanger(this.#kernel, tokenId(token)))),
    )
  }

  retrieveToken<Output = unknown>(token: TokenReference): Promise<RetrievedToken<Output> & TokenLinks> {
    const { credentials, portions } = this.#kernel
    return this.#kernel.read(() => {
      const id = tokenId(token)
      return chain(this.#read(id, MOST_WAITERS), (read) => {
        if (read?.record.kind !== 'MANUAL') throw tokenNotFound(id)
        const view = (): RetrievedToken<Output> & TokenLinks =>
          viewRetrievedToken<Output>(read, credentials, this.#values)
        return chain(portions.take(read.record.outputJson?.length ?? 0, liveAttempt()), view)
      })
    })
  }

  listTokens(params: ListTokensParams = {}): CursorPagePromise<Token & TokenLinks> {
    return listTokens(this.#kernel, params)
  }

  countTokens(params: CountTokensParams = {}): Promise<TokenCounts> {
    return this.#kernel.read(() => COUNTS.use(({ countTokens }) => countTokens(this.#kernel, params)))
  }

  subscribeToToken<Output = unknown>(
    token: TokenReference,
  ): AsyncIterable<RetrievedToken<Output> & TokenLinks> {
    const id = tokenId(token)
    return subscribeToToken(this.#kernel, id, () => this.retrieveToken<Output>(id))
  }

  subscribeToTokens(params: SubscribeToTokensParams = {}): AsyncIterable<readonly (Token & TokenLinks)[]> {
    return subscribeToTokens(this.#kernel, params)
  }

  for(options: WaitForOptions): Promise<void> {
    return sleepFor(this.#kernel, options)
  }

  until(options: WaitUntilOptions): Promise<void> {
    return sleepUntil(this.#kernel, options)
  }

  /** The first call with a key binds it to its token; a later one waits for that token, and its other arguments do not count. */
  #bind(scope: Attempt, id: string, key: KeyRecord): Awaitable<string> {
    const { host } = this.#kernel
    const now = host.now()
    const told = key.expiresAt === undefined ? undefined : this.#kernel.tell(scope, 'forToken', key.value)
    const asked = chain(told, () => this.#read(id))
    return chain(asked, (read) => {
      if (read === undefined) throw tokenNotFound(id)
      const { id: bindingId, createdAt } = host.made('binding', now)
      const record: TokenRecord = {
        id: bindingId,
        kind: 'BINDING',
        status: 'COMPLETED',
        outputJson: JSON.stringify(id),
        tags: [],
        key,
        runId: scope.id,
        createdAt,
        completedAt: createdAt,
      }
      // A binding's output is the id it was made with.
      const request = { record, fence: fenceOf(scope), now, by: host.owner }
      const bound = this.#kernel.written(scope, INSERT_TOKEN, request)
      return chain(bound, (answer) => fromJson(answer.record.outputJson) as string)
    })
  }

  /** A token as it is; one that is past its deadline is timed out by being read. */
  #read(id: string, waiters?: number): Awaitable<TokenRead | undefined> {
    const { host, publisher } = this.#kernel
    return chain(this.#kernel.asked(GET_TOKEN, { id, now: host.now(), waiters }), (read) => {
      if (read?.settledNow === true) publisher.token(read.record)
      return read
    })
  }
}

function asksSomething(options: CreateTokenOptions): boolean {
  for (const name in options) if (Object.hasOwn(QUESTION_NAMES, name)) return true
  return false
}

function isQuestion(completed: CompletedToken | UncheckedAnswer): completed is UncheckedAnswer {
  return 'record' in completed
}

/** A token tells itself from others by its tags and by a time-out that is written as a text. Instants are left out: the next execution computes others. */
function tokenWait({ name, timeout }: CreateTokenOptions, tags: readonly string[]): AskedWait {
  const isText = typeof timeout === 'string' && Number.isNaN(Date.parse(timeout))
  return { kind: 'token', name, content: isText ? [tags, timeout] : [tags] }
}

/** Storage has made a token, and its flow goes on. */
function madeAt({ record: { id, createdAt } }: Inserted<TokenRecord>, since: number): GivenAnswer {
  return { at: createdAt, id, since, isOfStorage: true }
}

function hasKey({ idempotencyKey, idempotencyKeyTTL }: IdempotencyOptions): boolean {
  return idempotencyKey !== undefined || idempotencyKeyTTL !== undefined
}

/**
 * The id of a token, checked. Ids that begin otherwise belong to what only its run may settle: a sleep, an effect.
 *
 * @throws TypeError when it is no id; WaitpointError `ERR_TOKEN_NOT_FOUND` when no token can have it.
 */
function tokenId(token: TokenReference): string {
  const id = idOf(token)
  if (typeof id !== 'string' || id === '')
    throw new TypeError(
      `Cannot use ${show(token)} as a token: give its id, or the token that \`await createToken()\` returns`,
    )
  if (!id.startsWith(TOKEN_ID_START)) throw tokenNotFound(id)
  return id
}
