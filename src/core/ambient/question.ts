import { cursorPages, type CursorPagePromise } from '../../api/cursor-page.ts'
import type {
  AskOptions,
  CreateQuestionOptions,
  DefinedQuestion,
  DefineQuestionOptions,
  PendingParams,
} from '../../api/question-definition.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { StandardSchemaV1 } from '../../api/standard-schema.ts'
import type {
  CompleteTokenOptions,
  CompletedToken,
  Duration,
  ForTokenOptions,
  Token,
  TokenLinks,
  TokenReference,
  LinkedToken,
  ReassignTokenOptions,
  TypedToken,
  WaitPromise,
  WaitResult,
  WithdrawTokenOptions,
} from '../../api/token.ts'
import { defined } from '../../primitives/defined.ts'
import { parseDuration } from '../../primitives/duration.ts'
import {
  idOf,
  type OptionNames,
  requireName,
  requireObject,
  requireOptions,
} from '../../primitives/require.ts'
import { isStandardSchema } from '../../questions/answer-schema.ts'
import { type Attempt, currentAttempt } from '../attempt/attempt.ts'
import { listOf } from '../namespaces/list-of.ts'
import { DEFINED, define } from '../namespaces/question-schema.ts'
import { once, wait } from './ambient.ts'
import { askEngine } from './current-engine.ts'

/**
 * Defines a question: what is asked, and what an answer is. A file that defines it is imported by the task that asks, and by each
 * process that answers, which then checks an answer by the schema itself (docs/ask-a-person.md).
 *
 * @throws TypeError or RangeError for options that cannot be used.
 *
 * @example
 * ```ts
 * const refund = question({ id: 'refund', message: 'Refund the order?', choices: ['approve', 'reject'] })
 * ```
 */
export function question<Answer, Data = unknown>(
  options: DefineQuestionOptions<Data> & { readonly schema: StandardSchemaV1<unknown, Answer> },
): DefinedQuestion<Data, Answer>
export function question<const Choice extends string, Data = unknown>(
  options: DefineQuestionOptions<Data> & { readonly choices: readonly Choice[] },
): DefinedQuestion<Data, Choice>
export function question<Data = unknown>(options: DefineQuestionOptions<Data>): DefinedQuestion<Data, unknown>
export function question<Data>(options: DefineQuestionOptions<Data>): DefinedQuestion<Data, unknown> {
  requireObject(options, 'the options of question')
  return new QuestionDefinition(options)
}

const PENDING_NAMES: OptionNames<PendingParams<unknown>> = {
  data: true,
  tags: true,
  after: true,
  before: true,
}

class QuestionDefinition<Data, Answer> implements DefinedQuestion<Data, Answer> {
  readonly id: string
  readonly tag: string
  readonly #options: DefineQuestionOptions<Data>
  readonly #schema: StandardSchemaV1<unknown, Answer> | undefined
  /** How often each run has asked it in this execution. */
  readonly #asked = new WeakMap<Attempt, number>()

  constructor(options: DefineQuestionOptions<Data>) {
    this.id = requireName(options.id, 'the id of a question')
    this.tag = `question:${this.id}`
    this.#options = options
    // The overloads say that the answer is of the type of the schema.
    const { schema } = options
    this.#schema = isStandardSchema(schema) ? (schema as StandardSchemaV1<unknown, Answer>) : undefined
    define(this.id, this.#schema)
  }

  create(data?: Data, options: CreateQuestionOptions = {}): Promise<LinkedToken & TypedToken<Answer>> {
    return this.#create(data, this.#placed(options))
  }

  async #create(
    data: Data | undefined,
    options: CreateQuestionOptions,
  ): Promise<LinkedToken & TypedToken<Answer>> {
    const { id, message, tags = [], ...rest } = this.#options
    const { tags: more = [], ...own } = options
    return wait.createToken({
      ...rest,
      ...own,
      ...(message !== undefined && {
        message: typeof message === 'function' ? message(data as Data) : message,
      }),
      ...(data !== undefined && { data }),
      tags: [this.tag, ...[tags].flat(), ...[more].flat()],
      ...{ [DEFINED]: id },
    })
  }

  wait(token: TokenReference, options?: ForTokenOptions): WaitPromise<Answer> {
    return wait.forToken<Answer>(this.#reference(token), options)
  }

  async ask(data?: Data, options: AskOptions<Answer> = {}): Promise<WaitResult<Answer>> {
    const { notify, remind, ...rest } = this.#placed(options)
    const { name } = rest
    if (name === undefined || currentAttempt() === undefined)
      throw new WaitpointError('ERR_NOT_IN_RUN', 'Cannot ask outside of a run: use create')
    const afterMs = remind === undefined ? 0 : parseDuration(remind.after, 'remind.after')
    const token = await this.#create(data, rest)
    if (notify === undefined) return this.wait(token, { name: `${name} answer` })
    // A retry asks anew, with another token, and tells people of that one. An end may have come while no engine was there.
    const tell = (place: string, reminder: number): Promise<void> =>
      once(`${place} ${token.id}`, async () => {
        const { status } = await wait.retrieveToken(token)
        if (status === 'WAITING') await notify({ token, reminder })
      })
    await tell(`${name} notify`, 0)
    const answer = this.wait(token, { name: `${name} answer` })
    const times = remind === undefined ? 0 : (remind.times ?? 1)
    for (let reminder = 1; reminder <= times; reminder += 1) {
      const place = `${name} reminder ${String(reminder)}`
      if (await isAnsweredWithin(answer, afterMs, place)) break
      await tell(place, reminder)
    }
    return answer
  }

  answer(token: TokenReference, output: unknown, options?: CompleteTokenOptions): Promise<CompletedToken> {
    return wait.completeToken(this.#reference(token), output, options)
  }

  withdraw(token: TokenReference, options?: WithdrawTokenOptions): Promise<CompletedToken> {
    return askEngine((engine) => engine.wait.withdrawToken(token, options))
  }

  extend(token: TokenReference, timeout: Duration | Date): Promise<CompletedToken> {
    return askEngine((engine) => engine.wait.extendToken(token, timeout))
  }

  reassign(
    token: TokenReference,
    approvers: readonly string[],
    options?: ReassignTokenOptions,
  ): Promise<CompletedToken> {
    return askEngine((engine) => engine.wait.reassignToken(token, approvers, options))
  }

  pending(params: PendingParams<Data> = {}): CursorPagePromise<Token & TokenLinks> {
    return cursorPages(
      async (cursor) => {
        const waiting = { status: 'WAITING', tags: this.tag } as const
        const { data, pagination } = await wait.listTokens({ ...waiting, ...defined(cursor) })
        return { data: data.filter((token) => isMeant(token, params)), ...pagination }
      },
      () => {
        requireOptions(params, 'the filters of pending', PENDING_NAMES)
        listOf(params.tags, 'tags')
        if (params.data !== undefined) requireObject(params.data, 'data')
        return defined({ after: params.after, before: params.before })
      },
    )
  }

  /** The place of a question in its run has the name of the question, so that it is found over a change of code. */
  #placed<Options extends CreateQuestionOptions>(options: Options): Options {
    const attempt = currentAttempt()
    if (attempt === undefined || options.name !== undefined) return options
    const count = (this.#asked.get(attempt) ?? 0) + 1
    this.#asked.set(attempt, count)
    return { ...options, name: `${this.tag} ${String(count)}` }
  }

  /** A token with the schema of this definition, also where another process has made it. */
  #reference(token: TokenReference): { readonly id: string } {
    const id = idOf(token) as string
    return this.#schema === undefined ? { id } : { id, ...{ [DEFINED]: this.#schema } }
  }
}

/** Whether a token has one of the tags, and all members of the data. */
function isMeant({ tags: has, question }: Token, { tags, data = {} }: PendingParams<unknown>): boolean {
  if (listOf(tags, 'tags')?.some((tag) => has.includes(tag)) === false) return false
  const asked = Object(question?.data) as Readonly<Record<string, unknown>>
  return Object.entries(data).every(([name, value]) => JSON.stringify(asked[name]) === JSON.stringify(value))
}

/** Waits for an answer, for a time. The sleep of one that came in time is dropped. */
async function isAnsweredWithin(answer: Promise<unknown>, afterMs: number, name: string): Promise<boolean> {
  const sleeping = new AbortController()
  const sleep = wait.for({ seconds: afterMs / 1_000, name, signal: sleeping.signal }).then(() => false)
  const isAnswered = await Promise.race([answer.then(() => true), sleep])
  if (isAnswered) {
    sleep.catch(() => undefined)
    sleeping.abort()
  }
  return isAnswered
}
