import type { Awaitable } from '../../contract/storage.ts'
import { chain, rescue } from '../../primitives/awaitable.ts'
import type { TokenRecord } from '../../contract/records.ts'
import { OutputInvalidError, WaitpointError } from '../../api/errors.ts'
import type { Answerer, AnswerIssue, Question, QuestionOptions } from '../../api/question.ts'
import { plainValue } from '../../api/noted-value.ts'
import { fromJson, toJson } from '../../api/serialize.ts'
import type { SchemaResult, StandardSchemaV1 } from '../../api/standard-schema.ts'
import { DEFINED, type Defined, definedSchema } from './question-schema.ts'
import type { OptionNames } from '../../primitives/require.ts'
import { requireList, requireName, show } from '../../primitives/require.ts'
import type { Values } from '../../api/values.ts'
import { isApprover, requirePerson } from '../../questions/approvers.ts'
import { isStandardSchema, jsonSchemaOf } from '../../questions/answer-schema.ts'
import { questionOf, type StoredAnswer } from '../views/question.ts'
import { UnknownAnswerer } from '../views/unknown-answerer.ts'
import { JsonSchemaCheck, SchemaRefused } from '../../questions/json-schema.ts'

const MOST_OF_MESSAGE = 10_000
const MOST_OF_TIMEOUT_TEXT = 1_000
const MOST_OF_DATA = 256 * 1_024
const MOST_CHOICES = 20
const MOST_APPROVERS = 50
const MOST_OF_NAME = 200
const MOST_OF_REASON = 1_000

const ANSWERER_NAMES: OptionNames<Answerer> = { id: true, name: true, roles: true, via: true }

/** A question as it is stored, or why it cannot be. */
interface AskedQuestion {
  readonly questionJson?: string
  readonly refused?: unknown
}

/**
 * A question as it is stored with its token. A run that is executed again has asked it before, by code or a version that took it: its
 * token is there, and a refusal is for its caller to throw if not.
 *
 * @throws TypeError or RangeError for what cannot be asked; WaitpointError `ERR_NOT_SERIALIZABLE`.
 */
export function toQuestion(
  options: QuestionOptions & Defined<string>,
  values: Values,
  isPlaced: boolean,
): Awaitable<AskedQuestion> {
  return rescue(
    () => chain(questionJson(options, values), (json): AskedQuestion => ({ questionJson: json })),
    (refused): AskedQuestion => {
      if (isPlaced) return { refused }
      throw refused
    },
  )
}

function questionJson(options: QuestionOptions & Defined<string>, values: Values): Awaitable<string> {
  const { [DEFINED]: id } = options
  const { message, schema, data, choices, approvers, onTimeoutText } = options
  const question: Question = {
    ...(id !== undefined && { id }),
    ...(message !== undefined && { message: text(message, 'message', MOST_OF_MESSAGE) }),
    ...(data !== undefined && { data: dataOf(data, values) }),
    ...(choices !== undefined && { choices: choicesOf(choices, schema) }),
    ...(approvers !== undefined && { approvers: readApprovers(approvers) }),
    ...(onTimeoutText !== undefined && {
      onTimeoutText: text(onTimeoutText, 'onTimeoutText', MOST_OF_TIMEOUT_TEXT),
    }),
  }
  if (schema === undefined) return JSON.stringify(question)
  return chain(schemaMembers(schema), (members) => JSON.stringify({ ...question, ...members }))
}

function schemaMembers(schema: unknown): Awaitable<Pick<Question, 'schema' | 'isSchemaHidden'>> {
  const isCode = isStandardSchema(schema)
  const json = isCode ? jsonSchemaOf(schema) : schema
  if (json === undefined) return { isSchemaHidden: true }
  const members = { schema: json as Readonly<Record<string, unknown>> }
  return rescue(
    () => chain(JsonSchemaCheck.of(json), () => members),
    (error) => {
      if (!(error instanceof SchemaRefused)) throw error
      throw new TypeError(`Cannot use schema: ${error.message}`, { cause: error })
    },
  )
}

function dataOf(data: unknown, values: Values): unknown {
  const json = toJson(values.encode(data, 'the data of a question', ''), 'the data of a question', '')
  if (json !== undefined && json.length > MOST_OF_DATA)
    throw new RangeError('Cannot use data: it is larger than 256 kB')
  return fromJson(json)
}

function choicesOf(choices: unknown, schema: unknown): readonly string[] {
  if (schema !== undefined)
    throw new TypeError('Cannot use choices: there is a schema, which says what an answer is')
  return texts(choices, 'choices', { least: 2, most: MOST_CHOICES })
}

/** @throws TypeError or RangeError for what are no approvers. */
export function readApprovers(approvers: unknown): readonly string[] {
  return texts(approvers, 'approvers', { least: 1, most: MOST_APPROVERS })
}

function texts(
  value: unknown,
  what: string,
  { least, most }: { readonly least: number; readonly most: number },
): readonly string[] {
  requireList(value, what)
  const list = value as readonly unknown[]
  const isUsable = list.length >= least && list.length <= most && new Set(list).size === list.length
  if (!isUsable)
    throw new RangeError(`Cannot use ${what}: there are ${String(least)} to ${String(most)}, all different`)
  return list.map((each) => text(each, what, MOST_OF_NAME))
}

function text(value: unknown, what: string, most: number): string {
  requireName(value, what)
  const read = value as string
  if (read.length > most)
    throw new RangeError(
      `Cannot use ${what} ${show(read.slice(0, 20))}…: it is longer than ${most.toLocaleString('en')} characters`,
    )
  return read
}

/** An answer that is to be checked, and how it came. */
export interface OfferedAnswer {
  /** As it is stored. */
  readonly outputJson: string | undefined
  readonly by: Answerer | undefined
  /** The schema that code of this process has for the token. */
  readonly schema: StandardSchemaV1 | undefined
  readonly values: Values
}

/**
 * Checks an answer against the question of its token. Answers who gives it, as it is stored.
 *
 * @throws WaitpointError `ERR_NOT_APPROVER` or `ERR_OUTPUT_INVALID`.
 */
export function checkAnswer(
  record: TokenRecord,
  { outputJson, by, schema: given, values }: OfferedAnswer,
): Awaitable<string | undefined> {
  const { id } = record
  const question = questionOf(record) ?? {}
  requireApprover(`Cannot complete token "${id}"`, question, by)
  const answered = by && answeredJson(by)
  const schema = given ?? definedSchema(question.id)
  if (schema === undefined && question.choices === undefined && question.schema === undefined) return answered
  const stored = fromJson(outputJson)
  // Code is given what the task will have; a JSON Schema knows JSON alone.
  const answer = schema === undefined ? plainValue(stored) : values.decode(stored)
  return chain(issuesOf(question, answer, schema), (issues) => {
    if (issues.length > 0) throw invalid(`Cannot complete token "${id}"`, issues, answer)
    return answered
  })
}

/** @throws WaitpointError `ERR_NOT_APPROVER`. */
export function requireApprover(what: string, question: Question, by: Answerer | undefined): void {
  if (isApprover(question, by)) return
  const who = by?.id === undefined ? 'without "by"' : `as ${show(by.id)}`
  throw new WaitpointError('ERR_NOT_APPROVER', `${what} ${who}: not one of its approvers`)
}

function issuesOf(
  { choices, schema: json }: Question,
  answer: unknown,
  schema: StandardSchemaV1 | undefined,
): Awaitable<readonly AnswerIssue[]> {
  if (schema !== undefined) return issuesBy(schema, answer)
  if (answer === undefined) return [{ path: [], message: 'is missing' }]
  if (choices === undefined) return chain(JsonSchemaCheck.of(json), (check) => check.issues(answer))
  if (choices.includes(answer as string)) return []
  return [{ path: [], message: `is none of ${choices.map(show).join(', ')}` }]
}

/** A schema of a library may answer with a promise of its own kind. */
async function issuesBy(schema: StandardSchemaV1, answer: unknown): Promise<readonly AnswerIssue[]> {
  return issuesIn(await schema['~standard'].validate(answer))
}

/** What a schema says is wrong; nothing if the answer fits. */
function issuesIn({ issues = [] }: SchemaResult<unknown>): readonly AnswerIssue[] {
  return issues.map(({ message, path = [] }) => ({ message, path: path.map(memberOf) }))
}

function memberOf(part: PropertyKey | { readonly key: PropertyKey }): string | number {
  const key = typeof part === 'object' ? part.key : part
  return typeof key === 'number' ? key : String(key)
}

function invalid(what: string, issues: readonly AnswerIssue[], answer: unknown): OutputInvalidError {
  const told = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  )
  return new OutputInvalidError(`${what}: the answer does not fit: ${told.join('; ')}`, { issues, answer })
}

/**
 * The answer as the schema of the task makes it.
 *
 * @throws OutputInvalidError The stored JSON Schema took what the schema refuses.
 */
export async function outputBy(
  schema: StandardSchemaV1,
  { id }: TokenRecord,
  answer: unknown,
): Promise<unknown> {
  const result = await schema['~standard'].validate(answer)
  if (result.issues === undefined) return result.value
  throw invalid(`Cannot go on with token "${id}"`, issuesIn(result), answer)
}

/** Who answers, or withdraws, why and by which call, as it is stored. @throws TypeError or RangeError for what cannot be stored. */
export function answeredJson(by: Answerer, reason?: string, call?: string): string {
  const why = reason !== undefined && { reason: text(reason, 'reason', MOST_OF_REASON) }
  if (by instanceof UnknownAnswerer) return JSON.stringify({ via: by.via, ...why, call })
  const { id, name, via = 'call' } = readAnswerer(by)
  const answered: StoredAnswer = { id, ...(name !== undefined && { name }), via, ...why, call }
  return JSON.stringify(answered)
}

/** @throws TypeError or RangeError for what is no answerer. */
export function readAnswerer(by: Answerer): Answerer {
  requirePerson(by, 'by', ANSWERER_NAMES)
  const { via } = by
  if (via !== undefined) text(via, 'the via of by', MOST_OF_NAME)
  return by
}
