import type { Cursor, CursorPagePromise } from './cursor-page.ts'
import type { QuestionOptions } from './question.ts'
import type {
  CompletedToken,
  CompleteTokenOptions,
  CreateTokenOptions,
  Duration,
  ReassignTokenOptions,
  ForTokenOptions,
  Token,
  TokenLinks,
  TokenReference,
  LinkedToken,
  TypedToken,
  WaitPromise,
  WaitResult,
  WithdrawTokenOptions,
} from './token.ts'

/** What `question()` is told (docs/ask-a-person.md). */
export interface DefineQuestionOptions<Data> extends Omit<QuestionOptions, 'message' | 'data'> {
  /** Of at most 100 characters. Tokens of the question have the tag `question:<id>`. */
  readonly id: string
  /**
   * What is asked, for people, or a function that says it of the data.
   *
   * @default none
   */
  readonly message?: string | ((data: Data) => string)
  /**
   * The deadline of each that is asked: a duration, a `Date`, or an ISO 8601 string.
   *
   * @default `'10m'`
   */
  readonly timeout?: Duration | Date
  /**
   * At most 9, beside that of the question.
   *
   * @default none
   */
  readonly tags?: string | readonly string[]
}

/** What one that is asked has of its own; the definition says the rest. */
export type CreateQuestionOptions = Omit<CreateTokenOptions, 'message' | 'schema' | 'choices' | 'data'>

/** Options of `ask`. */
export interface AskOptions<Answer> extends CreateQuestionOptions {
  /**
   * Tells people, each time once for its token, as an effect of `once`: at first (`reminder` is 0), and for each reminder.
   *
   * @default none
   */
  readonly notify?: (asked: {
    readonly token: LinkedToken & TypedToken<Answer>
    readonly reminder: number
  }) => unknown
  /**
   * Calls `notify` again while the token waits, this long after the time before.
   *
   * @default never
   */
  readonly remind?: {
    readonly after: Duration
    /** @default `1` */
    readonly times?: number
  }
}

/** Which of those that wait: `pending` of a question. */
export interface PendingParams<Data> extends Cursor {
  /**
   * Those whose data has these members, compared as JSON.
   *
   * @default all
   */
  readonly data?: { readonly [Name in keyof Data]?: Data[Name] }
  /**
   * Those that have any of these tags.
   *
   * @default all
   */
  readonly tags?: string | readonly string[]
}

/** A question that tasks ask, and people answer (docs/ask-a-person.md). */
export interface DefinedQuestion<Data, Answer> {
  readonly id: string
  /** What its tokens are found by, such as with `engine.wait.subscribeToTokens({ tags: refund.tag })`. */
  readonly tag: string
  /**
   * Asks it and waits for the answer, over restarts and changes of code. Only in a run. Rejects as `create` and `wait` do, with
   * `ERR_NOT_IN_RUN`, and with what `notify` throws.
   */
  ask(data?: Data, options?: AskOptions<Answer>): Promise<WaitResult<Answer>>
  /** Makes its token; rejects as `wait.createToken` does. */
  create(data?: Data, options?: CreateQuestionOptions): Promise<LinkedToken & TypedToken<Answer>>
  /** Waits for an answer as `wait.forToken` does. Rejects with `ERR_OUTPUT_INVALID` if only its schema refuses what was answered. */
  wait(token: TokenReference, options?: ForTokenOptions): WaitPromise<Answer>
  /** Answers it; rejects as `wait.completeToken` does. */
  answer(token: TokenReference, output: unknown, options?: CompleteTokenOptions): Promise<CompletedToken>
  /** Ends the wait without an answer, as `wait.withdrawToken` does. */
  withdraw(token: TokenReference, options?: WithdrawTokenOptions): Promise<CompletedToken>
  /** Moves the deadline, as `wait.extendToken` does. */
  extend(token: TokenReference, timeout: Duration | Date): Promise<CompletedToken>
  /** Has others answer, as `wait.reassignToken` does. */
  reassign(
    token: TokenReference,
    approvers: readonly string[],
    options?: ReassignTokenOptions,
  ): Promise<CompletedToken>
  /**
   * Those that wait for an answer, newest first. With filters a page has those that fit of 25 that wait, which may be none: iterate.
   * Rejects with a TypeError for filters that cannot be used.
   */
  pending(params?: PendingParams<Data>): CursorPagePromise<Token & TokenLinks>
}
