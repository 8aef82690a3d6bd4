import type { RunRecord, TokenKind, TokenRecord } from '../../contract/records.ts'
import { boundRunId, isRunBinding } from '../../contract/run-binding.ts'
import { CALLS, readEffect, readName, readQuestionKey } from '../../contract/question-keys.ts'
import type { AskedWait } from '../../contract/question-keys.ts'

/** A wait of a run: as its storage has it, or as the new code asks for it. */
export interface InFlightQuestion {
  /** The function that was called: `wait.createToken`, `wait.for`, `wait.until`, `triggerAndWait` or `once`. */
  readonly call: string
  /** The name of the wait, or the key of `once`. */
  readonly name?: string
  readonly idempotencyKey?: string
  readonly tags?: readonly string[]
  /** The time-out as the code says it. A storage does not have it. */
  readonly timeout?: string
  /** The task of a child run. */
  readonly taskId?: string
  /** The place in the flow of the run: equal for equal paths of engine calls. */
  readonly place?: string
  /** The id of the token or of the child run. */
  readonly id?: string
  readonly askedAt?: Date
}

/** The calls that made the tokens of each kind, where their key does not say it. */
const CALLS_BY_KIND: Readonly<Record<TokenKind, string>> = {
  MANUAL: 'wait.createToken',
  INPUT: 'streams.input',
  SLEEP: 'wait.for or wait.until',
  ONCE: 'once',
  BINDING: 'wait.forToken',
  RUN: 'triggerAndWait',
}

/** The question that a token stands for. */
export function tokenQuestion(token: TokenRecord): InFlightQuestion {
  const { kind, tags, key, createdAt } = token
  const [known, id] = isRunBinding(token)
    ? [CALLS_BY_KIND.RUN, boundRunId(token)]
    : [CALLS_BY_KIND[kind], token.id]
  const { call = known, ...rest } = keyParts(key?.value)
  return { call, ...rest, ...(tags.length === 0 ? {} : { tags }), id, askedAt: new Date(createdAt) }
}

/** The question that a child run stands for. */
export function childQuestion({ id, taskId, key, createdAt }: RunRecord): InFlightQuestion {
  return { ...keyParts(key?.value), call: 'triggerAndWait', taskId, id, askedAt: new Date(createdAt) }
}

/** A question that the new code asks and that no storage has. */
export function newQuestion({ id: _id, askedAt: _askedAt, ...question }: InFlightQuestion): InFlightQuestion {
  return question
}

/** The question of a wait that did not fit what stands at its place. */
export function askedQuestion({ by, kind, name, content }: AskedWait): InFlightQuestion {
  const asked = { call: CALLS[kind] ?? kind, ...textPart(by === 'key' ? 'idempotencyKey' : 'name', name) }
  const parts: readonly unknown[] = Array.isArray(content) ? content : []
  if (kind === 'trigger') return { ...asked, ...textPart('taskId', parts[0]) }
  // The options of createToken that tell one token from another: its tags, and a time-out that is a text.
  const tags = Array.isArray(parts[0]) ? parts[0].map(String) : []
  return { ...asked, ...(tags.length === 0 ? {} : { tags }), ...textPart('timeout', parts[1]) }
}

/** The parts of a key of the run's own. */
function keyParts(
  value: string | undefined,
): Pick<InFlightQuestion, 'name' | 'idempotencyKey' | 'place'> & { readonly call?: string } {
  const effect = readEffect(value)
  if (effect !== undefined) return { name: effect }
  const named = readName(value)
  if (named !== undefined) {
    const { by, kind, name } = named
    return { ...textPart('call', kind && CALLS[kind]), [by === 'key' ? 'idempotencyKey' : 'name']: name }
  }
  const question = readQuestionKey(value)
  return question === undefined ? {} : { call: CALLS[question.kind] ?? question.kind, place: question.place }
}

function textPart<Name extends string>(name: Name, value: unknown): { readonly [_ in Name]?: string } {
  // The only property is the one that the type names.
  return (typeof value === 'string' ? { [name]: value } : {}) as { readonly [_ in Name]?: string }
}

/** A question in one line: `wait.createToken, name "manager", tags review`. */
export function questionText(question: InFlightQuestion): string {
  const { call, name, idempotencyKey, tags, timeout, taskId, askedAt } = question
  const parts = [
    call === 'once' ? `the effect of once("${name}")` : call,
    taskId !== undefined && `of task "${taskId}"`,
    name !== undefined && call !== 'once' && `name "${name}"`,
    idempotencyKey !== undefined && `key "${idempotencyKey}"`,
    tags !== undefined && `tags ${tags.join(' ')}`,
    timeout !== undefined && `timeout ${timeout}`,
    askedAt !== undefined && `asked at ${askedAt.toISOString()}`,
  ]
  return parts.filter((part) => part !== false).join(', ')
}
