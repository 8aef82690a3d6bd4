import type { ChunkRecord, SegmentEnd, SegmentRecord, StreamRecord } from '../../contract/records.ts'
import type {
  ChunkAdd,
  ChunkAppend,
  ChunkRead,
  ChunksMoved,
  ChunksRead,
  ChunkStore,
  StreamOpen,
} from '../../contract/storage.ts'
import { JsonText } from '../../primitives/json.ts'
import { BREAK, onOneLine, type StreamName, wholeStream } from '../sql-rows.ts'
import { fenceColumns } from './requests.ts'
import type { PostgresSession } from './session.ts'
import type { CallKind } from './turns.ts'

/** A stream as the functions answer it: the segments before the last one, and that. */
type StreamAnswer = readonly [
  next: number,
  before: readonly SegmentRecord[],
  attempt: number,
  first: number,
  ending: SegmentEnd | null,
]

type ReadAnswer = readonly [
  stream: StreamAnswer,
  rows: readonly (readonly [first: number, texts: string])[],
  written: number | null,
]

/** Why chunks cannot be appended. */
interface Refusal {
  readonly unopened?: number
  readonly next?: number
  readonly from?: number
  readonly other?: number
  readonly ended?: string
}

interface Moved {
  readonly moved: number
}

const OPEN: CallKind = {
  name: 'open_streams',
  isRepeatable: true,
  lockOf: (request: { readonly run_id: string }) => request.run_id,
}
const APPEND: CallKind = {
  name: 'append',
  isRepeatable: true,
  lockOf: (request: { readonly run_id: string }) => request.run_id,
}
const ADD: CallKind = { name: 'add_chunks', isRepeatable: true }
const READ: CallKind = { name: 'read_chunks', isRepeatable: true }

/** The streams of a Postgres storage, from their first chunk on. */
export function postgresChunks(session: PostgresSession): ChunkStore {
  return {
    open: (request) => openStream(session, request),
    append: (request) => appendChunks(session, request),
    add: (request) => addChunks(session, request),
    read: (request) => readChunks(session, request),
  }
}

async function openStream(
  { ask, hints }: PostgresSession,
  { runId, key, epoch, attempt, by, now }: StreamOpen,
): Promise<StreamRecord | undefined> {
  // A list of keys is JSON in a text, and there NUL and halves of surrogates are escaped already.
  const keys = { key, key_json: JSON.stringify(key) }
  const answer = await ask(OPEN, { run_id: runId, ...keys, epoch, by_owner: by, attempt, now }, runId)
  if (answer === undefined) return undefined
  hints.stream(runId, key, by)
  return streamOf({ runId, key }, answer as StreamAnswer)
}

async function appendChunks(
  { ask, hints }: PostgresSession,
  request: ChunkAppend,
): Promise<'appended' | 'stale' | ChunksMoved> {
  const { runId, key, epoch, first, chunks, end, written, by } = request
  const texts = chunks.map(({ text }) => onOneLine(text))
  const columns = { run_id: runId, key, epoch, by_owner: by, first, texts, ending: end ?? null, written }
  const answer = (await ask(APPEND, columns, runId)) as 'appended' | 'stale' | Moved | Refusal
  if (typeof answer !== 'string' && 'moved' in answer) return { next: answer.moved }
  if (typeof answer !== 'string') throw refused(request, reasonOf(answer))
  if (answer === 'appended') hints.stream(runId, key, by)
  return answer
}

async function addChunks(
  { ask, hints }: PostgresSession,
  request: ChunkAdd,
): Promise<'added' | 'stale' | 'closed'> {
  const { runId, key, chunks, end, written, by, now } = request
  const texts = chunks.map(({ text }) => onOneLine(text))
  const stream = { run_id: runId, key, key_json: JSON.stringify(key), by_owner: by, now }
  const columns = { ...stream, ...fenceColumns(request), texts, ending: end ?? null, ...written }
  const answer = (await ask(ADD, columns, runId)) as 'added' | 'stale' | 'closed'
  if (answer === 'added') hints.stream(runId, key, by)
  return answer
}

async function readChunks({ ask }: PostgresSession, request: ChunkRead): Promise<ChunksRead | undefined> {
  const { runId, key, limit, writer } = request
  const from = Math.max(0, request.from)
  const answer = await ask(READ, { run_id: runId, key, from, most: limit, writer }, runId)
  if (answer === undefined) return undefined
  const [stream, rows, written] = answer as ReadAnswer
  const chunks: ChunkRecord[] = []
  for (const [first, texts] of rows) {
    const skipped = from + chunks.length - first
    const taken = texts.split(BREAK).slice(skipped, skipped + limit - chunks.length)
    for (const text of taken) chunks.push(JsonText.ofText(text))
  }
  const read = { stream: streamOf(request, stream), first: from, chunks }
  return written === null ? read : { ...read, written }
}

function streamOf(stream: StreamName, [next, before, attempt, first, ending]: StreamAnswer): StreamRecord {
  const last = ending === null ? { attempt, first } : { attempt, first, end: ending }
  return wholeStream(stream, next, [...before, last])
}

function reasonOf({ unopened, next, from, other, ended }: Refusal): string {
  if (unopened !== undefined) return `attempt ${unopened} has not opened it`
  if (next !== undefined) return `its next chunk is ${next}`
  if (from !== undefined) return `this attempt writes from ${from}`
  if (other !== undefined) return `chunk ${other} is there with another value`
  return `this attempt has ended it, reason "${ended}"`
}

function refused({ runId, key, first }: ChunkAppend, reason: string): Error {
  return new Error(`Cannot append chunks from ${first} to stream "${key}" of run "${runId}": ${reason}`)
}
