import type { StandardSchemaV1 } from './standard-schema.ts'

/** A JSON Schema (draft 2020-12), as JSON. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** What a token asks, and of whom (docs/ask-a-person.md). */
export interface QuestionOptions {
  /**
   * What is asked, for people: at most 10,000 characters.
   *
   * @default none
   */
  readonly message?: string
  /**
   * What an answer is: any Standard Schema (of zod, valibot, ArkType …), or a JSON Schema. An answer that does not fit is refused
   * with `ERR_OUTPUT_INVALID`, and the token waits on. The JSON Schema is stored, if the schema has one.
   *
   * @default any JSON value
   */
  readonly schema?: StandardSchemaV1 | JsonSchema
  /**
   * What the question is about, for the one who answers: any JSON value, of at most 256 kB.
   *
   * @default none
   */
  readonly data?: unknown
  /**
   * The answers that there are, for a question without a schema: 2 to 20 different texts.
   *
   * @default any
   */
  readonly choices?: readonly string[]
  /**
   * Who may answer: at most 50 ids or roles, of which `by` must have one. Others are refused with `ERR_NOT_APPROVER`.
   *
   * @default anyone
   */
  readonly approvers?: readonly string[]
  /**
   * What it means if no answer comes, for people: at most 1,000 characters.
   *
   * @default none
   */
  readonly onTimeoutText?: string
}

/** The question of a token, as it is shown. */
export interface Question {
  /** The id of its definition. */
  readonly id?: string
  readonly message?: string
  readonly data?: unknown
  /** Absent: any JSON value, or a schema that only code has (`isSchemaHidden`). */
  readonly schema?: JsonSchema
  /** There is a schema, and no JSON Schema of it: only processes that made the token check an answer before it is stored. */
  readonly isSchemaHidden?: true
  readonly choices?: readonly string[]
  readonly approvers?: readonly string[]
  readonly onTimeoutText?: string
}

/** The one who answers, as the caller of a completion knows them. */
export interface Answerer {
  /** Of at most 200 characters, such as the id of a user. */
  readonly id: string
  /**
   * For people.
   *
   * @default none
   */
  readonly name?: string
  /**
   * What they may be an approver by, besides their id. Not stored.
   *
   * @default none
   */
  readonly roles?: readonly string[]
  /**
   * The way that the answer came, such as `slack`.
   *
   * @default `'call'`
   */
  readonly via?: string
}

/** A person that a link to answer, or an access token, is for. */
export type Person = Omit<Answerer, 'via'>

/** Who settled a token, as it is stored with it. */
export interface AnsweredBy {
  /** Absent: it is not known, as for the token's URL. */
  readonly id?: string
  readonly name?: string
  /** The way that the answer came: `call`, `http`, `url`, or as the caller says. */
  readonly via: string
}

/** Who withdrew a token, and why. */
export interface Withdrawal extends AnsweredBy {
  readonly reason?: string
}

/** What is wrong with an answer, and where. */
export interface AnswerIssue {
  /** The members and places that lead there, such as `['items', 0, 'name']`; empty for the answer itself. */
  readonly path: readonly (string | number)[]
  readonly message: string
}
