import {
  type InputPlace,
  inputKey,
  type InputRead,
  readerAttempt,
  readInputKey,
} from '../../contract/input-keys.ts'
import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { RunAsked, TokenInsert } from '../../contract/storage.ts'
import type { AnsweredBy } from '../../api/question.ts'
import { WaitpointError } from '../../api/errors.ts'
import { fromJson } from '../../api/serialize.ts'
import type { Values } from '../../api/values.ts'
import type { WaitResult } from '../../api/token.ts'
import type { Settlement } from '../attempt/attempt.ts'
import type { RepeatableCall } from '../host/storage-calls.ts'
import type { Host } from '../host/host.ts'
import { timeoutError } from '../views/token.ts'
import type { DefinedInput } from '../../api/input-calls.ts'

/** `answeredJson` of an input that was sent: by whom, and what tells this message from an equal one. */
export interface InputNote {
  readonly by?: AnsweredBy | undefined
  /** The idempotency key of its sender. */
  readonly key?: string | undefined
  readonly call?: string | undefined
}

/** `answeredJson` of a number that is passed over: a wait for it was dropped. */
export const PASSED = '{"isPassed":true}'

/** Everything that a run has asked for, its inputs among it. */
export const RUN_ASKED: RepeatableCall<string, RunAsked> = {
  ask: (storage, id) => storage.runs.asked(id),
}

/** Whether a number of a stream has a message. */
export function isMessage({ status, answeredJson }: TokenRecord): boolean {
  return status === 'COMPLETED' && answeredJson !== PASSED
}

export function noteOf({ answeredJson }: TokenRecord): InputNote {
  return answeredJson === undefined ? {} : (JSON.parse(answeredJson) as InputNote)
}

/** The record of a number of a stream, with what is known of it. */
export function newInput(
  host: Host,
  run: Pick<RunRecord, 'id'>,
  {
    status,
    ...fields
  }: InputPlace & Pick<TokenRecord, 'status' | 'timeoutAt' | 'outputJson' | 'answeredJson'>,
): TokenRecord {
  const { stream, n, ...rest } = fields
  const { id, createdAt } = host.made('input')
  const key = { scope: run.id, value: inputKey({ stream, n }) }
  const completed = status === 'COMPLETED' && { completedAt: createdAt }
  return { id, kind: 'INPUT', status, tags: [], key, runId: run.id, createdAt, ...rest, ...completed }
}

/** The insert of a record that is there already, as it tells of a read or of a key. */
export function insertOf(
  host: Host,
  {
    key,
    runId,
    outputJson,
    tags = [],
  }: Pick<TokenRecord, 'outputJson'> & {
    readonly key: string
    readonly runId: string
    readonly tags?: readonly string[]
  },
): Omit<TokenInsert, 'fence'> {
  const { id, createdAt } = host.made('input')
  const record: TokenRecord = {
    id,
    kind: 'INPUT',
    status: 'COMPLETED',
    outputJson,
    tags,
    key: { scope: runId, value: key },
    runId,
    createdAt,
    completedAt: createdAt,
  }
  return { record, now: createdAt, by: host.owner }
}

/** One stream of a run, as storage has it. */
export interface StoredInputs {
  /** By number. */
  readonly inputs: ReadonlyMap<number, TokenRecord>
  /** The records of reads, oldest first. */
  readonly reads: readonly StoredRead[]
}

export interface StoredRead extends InputRead {
  readonly key: string
  readonly policyAttempt: number
  readonly record: TokenRecord
}

/** What a run has asked for, as far as it concerns one of its input streams. */
export function storedInputs({ tokens }: RunAsked, stream: string): StoredInputs {
  const inputs = new Map<number, TokenRecord>()
  const reads: StoredRead[] = []
  for (const record of tokens) {
    if (record.kind !== 'INPUT') continue
    const place = readInputKey(record.key?.value)
    if (place?.stream === stream) inputs.set(place.n, record)
    if (place !== undefined || record.outputJson === undefined) continue
    const read = fromJson(record.outputJson) as InputRead
    const key = record.key?.value ?? ''
    if (read.stream === stream) reads.push({ ...read, key, policyAttempt: readerAttempt(key), record })
  }
  return { inputs, reads }
}

/** The messages of one stream that no read has been given, in their order. */
export interface UnreadInputs {
  readonly stream: string
  readonly messages: readonly UnreadInput[]
}

export interface UnreadInput {
  readonly dataJson: string | undefined
  readonly by: AnsweredBy | undefined
  readonly sentAt: number
}

/** What a run has not read yet, by stream. */
export function unreadInputs(asked: RunAsked): readonly UnreadInputs[] {
  const streams = new Set(
    asked.tokens.map(({ kind, key }) => kind === 'INPUT' && readInputKey(key?.value)?.stream),
  )
  return [...streams]
    .filter((stream) => typeof stream === 'string')
    .map((stream) => {
      const { inputs, reads } = storedInputs(asked, stream)
      const read = new Set(reads.flatMap(({ taken }) => taken))
      const unread = [...inputs].filter(([n, record]) => isMessage(record) && !read.has(n))
      const messages = unread
        .toSorted(([one], [other]) => one - other)
        .map(([, record]) => ({
          dataJson: record.outputJson,
          by: noteOf(record).by,
          sentAt: record.completedAt ?? record.createdAt,
        }))
      return { stream, messages }
    })
    .filter(({ messages }) => messages.length > 0)
}

/** The message of an input, and what a wait for it results in. */
export async function inputSettlement(
  record: TokenRecord,
  input: DefinedInput,
  { values, signal }: { readonly values: Values; readonly signal?: AbortSignal | undefined },
): Promise<Settlement<WaitResult<unknown>, unknown>> {
  if (record.status === 'TIMED_OUT') {
    const error = timeoutError(record)
    return { result: { ok: false, error }, error }
  }
  if (!isMessage(record)) throw droppedError(signal)
  const output = await inputValue(record, input, values)
  const { by } = noteOf(record)
  return { result: by === undefined ? { ok: true, output } : { ok: true, output, by }, output }
}

/** Why a wait was dropped. An execution that comes later knows only that it was. */
function droppedError(signal: AbortSignal | undefined): unknown {
  return signal?.aborted === true ? signal.reason : new DOMException('The wait was dropped', 'AbortError')
}

/** The message of an input as the schema of its stream makes it. */
export function inputValue(
  { outputJson }: TokenRecord,
  input: DefinedInput,
  values: Values,
): Promise<unknown> {
  return checkedInput(input, values.decode(fromJson(outputJson)), 'read')
}

/** @throws WaitpointError `ERR_PAYLOAD_INVALID` for a message that the schema of the stream refuses. */
export async function checkedInput(
  { id, schema }: DefinedInput,
  data: unknown,
  what: 'read' | 'send',
): Promise<unknown> {
  if (schema === undefined) return data
  const result = await schema['~standard'].validate(data)
  if (result.issues === undefined) return result.value
  const told = result.issues.map(({ message, path = [] }) =>
    [...path.map((part) => String(typeof part === 'object' ? part.key : part)), message].join(': '),
  )
  throw new WaitpointError(
    'ERR_PAYLOAD_INVALID',
    `Cannot ${what} a message of stream "${id}": it does not fit: ${told.join('; ')}`,
  )
}
