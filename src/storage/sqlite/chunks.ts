import type {
  ChunkRecord,
  RunRecord,
  SegmentEnd,
  SegmentRecord,
  StreamRecord,
} from '../../contract/records.ts'
import type {
  ChunkAppend,
  ChunkRead,
  ChunksRead,
  ChunkStore,
  StreamOpen,
  WriterProgress,
} from '../../contract/storage.ts'
import { draftOf } from '../run-draft.ts'
import { readChunkRows, writeChunkRow } from './chunk-rows.ts'
import { findRun, replaceRun, type StoredRun } from './run-rows.ts'
import { segmentsOf, type StreamRow } from './segments.ts'
import { type Perform, RefusedCall, type SqliteSession } from './session.ts'
import { isAttempted } from '../../contract/run-states.ts'

interface StreamName {
  readonly runId: string
  readonly key: string
}

/** The streams of a SQLite storage, from their first chunk on. */
export function sqliteChunks(perform: Perform): ChunkStore {
  return {
    open: (request) => perform((session) => openStream(session, request)),
    append: (request) => perform((session) => appendChunks(session, request)),
    read: (request) => perform((session) => readChunks(session, request), 'read'),
  }
}

function openStream(session: SqliteSession, request: StreamOpen): StreamRecord | undefined {
  const { runId, key, attempt, by, now } = request
  const run = writableRun(session, request)
  if (run === undefined) return undefined

  const stored = findStream(session, request)
  const segments = stored === undefined ? [] : segmentsOf(stored)
  const next = stored?.next ?? 0
  if (stored !== undefined && segments.at(-1)?.attempt === attempt) {
    return { runId, key, first: 0, next, segments }
  }
  if (stored === undefined) {
    const record = { ...draftOf(run.record, now), streams: [...run.record.streams, key] }
    replaceRun(session, run, { record, act: request })
  }
  const opened = [...segments, { attempt, first: next }]
  session.database.run(
    'INSERT OR REPLACE INTO streams (run_id, key, next, segments) VALUES (?, ?, ?, ?)',
    runId,
    key,
    next,
    JSON.stringify(opened),
  )
  session.hints.stream(runId, key, by)
  return { runId, key, first: 0, next, segments: opened }
}

function appendChunks(session: SqliteSession, request: ChunkAppend): 'appended' | 'stale' {
  const { runId, key, first, chunks, end, by } = request
  const run = writableRun(session, request)
  if (run === undefined) return 'stale'
  const stream = findStream(session, request)
  const { segments, segment } = openSegment(run.record, stream, request)
  const next = stream?.next ?? 0
  const fresh = first === next ? chunks : chunks.slice(Math.max(0, next - first))
  checkPlace(request, { segment, next })
  checkRepeat(session, request, next)
  // A segment that gets chunks after its end is open again, until it is ended anew.
  const ended = fresh.length > 0 ? undefined : segment.end
  checkEnd(request, ended)

  if (fresh.length > 0) writeChunkRow(session, { runId, key, first: next, chunks: fresh })
  const last = ended ?? end
  const written = { attempt: segment.attempt, first: segment.first }
  const changed = last === undefined ? written : { ...written, end: last }
  session.database.run(
    'UPDATE streams SET next = ?, segments = ? WHERE run_id = ? AND key = ?',
    next + fresh.length,
    JSON.stringify([...segments.slice(0, -1), changed]),
    runId,
    key,
  )
  for (const progress of request.written ?? []) noteWriter(session, request, progress)
  session.hints.stream(runId, key, by)
  return 'appended'
}

function noteWriter(
  { database }: SqliteSession,
  { runId, key }: StreamName,
  { writer, last }: WriterProgress,
): void {
  database.run(
    `INSERT INTO writers (run_id, key, writer, last) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET last = max(last, excluded.last)`,
    runId,
    key,
    writer,
    last,
  )
}

function readChunks(session: SqliteSession, request: ChunkRead): ChunksRead | undefined {
  const stream = findStream(session, request)
  if (stream === undefined) return undefined
  const { runId, key } = request
  const from = Math.max(0, request.from)
  const chunks = from < stream.next ? readChunkRows(session, { ...request, from }) : []
  const record = { runId, key, first: 0, next: stream.next, segments: segmentsOf(stream) }
  const read = { stream: record, first: from, chunks }
  return request.writer === undefined ? read : { ...read, written: findWriter(session, request) }
}

/** The number of the last chunk of a writer. */
function findWriter({ database }: SqliteSession, { runId, key, writer = '' }: ChunkRead): number | undefined {
  const last = database.value(
    'SELECT last AS value FROM writers WHERE run_id = ? AND key = ? AND writer = ?',
    runId,
    key,
    writer,
  )
  return last === undefined ? undefined : Number(last)
}

function findStream({ database }: SqliteSession, { runId, key }: StreamName): StreamRow | undefined {
  return database.get('SELECT * FROM streams WHERE run_id = ? AND key = ?', runId, key) as
    StreamRow | undefined
}

/** The run, if the writer's attempt is still the current one. */
function writableRun(
  session: SqliteSession,
  { runId, epoch, by }: { readonly runId: string; readonly epoch: number; readonly by: string },
): StoredRun | undefined {
  const run = findRun(session, runId)
  if (run?.record.epoch !== epoch || run.record.owner !== by) return undefined
  return isAttempted(run.record.status) ? run : undefined
}

/** The segment of the current attempt. */
function openSegment(
  record: RunRecord,
  stream: StreamRow | undefined,
  request: ChunkAppend,
): { readonly segments: readonly SegmentRecord[]; readonly segment: SegmentRecord } {
  const segments = stream === undefined ? [] : segmentsOf(stream)
  const segment = segments.at(-1)
  if (segment?.attempt === record.attempt) return { segments, segment }
  throw refused(request, `attempt ${record.attempt} has not opened it`)
}

function checkPlace(
  request: ChunkAppend,
  { segment, next }: { readonly segment: SegmentRecord; readonly next: number },
): void {
  if (request.first > next) throw refused(request, `its next chunk is ${next}`)
  if (request.first < segment.first) throw refused(request, `this attempt writes from ${segment.first}`)
}

/** Checks that repeated chunks are equal to the stored ones. */
function checkRepeat(session: SqliteSession, request: ChunkAppend, next: number): void {
  const { runId, key, first, chunks } = request
  const count = Math.min(chunks.length, next - first)
  if (count <= 0) return
  const stored = readChunkRows(session, { runId, key, from: first, limit: count })
  stored.forEach((chunk, index) => {
    const said = chunks[index]
    if (said !== undefined && isSame(chunk, said)) return
    throw refused(request, `chunk ${first + index} is there with another value`)
  })
}

function checkEnd(request: ChunkAppend, end: SegmentEnd | undefined): void {
  if (end === undefined || request.end === undefined) return
  if (JSON.stringify(request.end) === JSON.stringify(end)) return
  throw refused(request, `this attempt has ended it, reason "${end.reason}"`)
}

function isSame(one: ChunkRecord, other: ChunkRecord): boolean {
  return one.text === other.text
}

function refused({ runId, key, first }: ChunkAppend, reason: string): RefusedCall {
  return new RefusedCall(`Cannot append chunks from ${first} to stream "${key}" of run "${runId}": ${reason}`)
}
