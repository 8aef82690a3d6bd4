import type {
  ChunkRecord,
  RunRecord,
  SegmentEnd,
  SegmentRecord,
  StreamRecord,
} from '../../contract/records.ts'
import type {
  ChunkAdd,
  ChunkAppend,
  ChunkRead,
  ChunksMoved,
  ChunksRead,
  ChunkStore,
  StreamOpen,
  WriterProgress,
} from '../../contract/storage.ts'
import { draftOf } from '../run-draft.ts'
import { type StreamName, wholeStream } from '../sql-rows.ts'
import { readChunkRows, writeChunkRow } from './chunk-rows.ts'
import { findRun, replaceRun, type StoredRun } from './run-rows.ts'
import { changedSegment, segmentsOf, shownSegment, type StoredSegment, type StreamRow } from './segments.ts'
import { type Perform, RefusedCall, type SqliteSession } from './session.ts'
import { isAttempted } from '../../contract/run-states.ts'
import {
  endOfAll,
  hasOpenStreams,
  notStored,
  OtherWriters,
  planAppend,
  type SegmentWriters,
  withOpened,
} from '../stream-writers.ts'
import { isStaleAttempt } from './waits.ts'

/** The streams of a SQLite storage, from their first chunk on. */
export function sqliteChunks(perform: Perform): ChunkStore {
  return {
    open: (request) => perform((session) => openStream(session, request)),
    append: (request) => perform((session) => appendChunks(session, request)),
    add: (request) => perform((session) => addChunks(session, request)),
    read: (request) => perform((session) => readChunks(session, request), 'read'),
  }
}

function openStream(session: SqliteSession, request: StreamOpen): StreamRecord | undefined {
  const run = writableRun(session, request)
  if (run === undefined) return undefined
  const { next, segments, segment } = lastSegment(session, run, request)
  const { shared } = segment
  const opened = shared && shareSegment(segment, withOpened(shared, next))
  if (opened !== undefined) writeStream(session, request, { next, segments, segment: opened })
  const last = shownSegment(opened ?? segment)
  return wholeStream(request, next, [...segments.map(shownSegment), last])
}

function shareSegment(segment: SegmentRecord, shared: SegmentWriters): StoredSegment {
  return changedSegment(segment, { shared, end: endOfAll(shared) })
}

/** A stream: its last segment, and those before it. */
interface OpenStream {
  readonly next: number
  readonly segments: readonly StoredSegment[]
  readonly segment: StoredSegment
}

/** The segment of the last attempt, which is opened if it is not there yet. */
function lastSegment(
  session: SqliteSession,
  run: StoredRun,
  request: Pick<StreamOpen, 'runId' | 'key' | 'by' | 'now'>,
): OpenStream & { readonly isNew: boolean } {
  const { runId, key, by, now } = request
  const { attempt } = run.record
  const stored = findStream(session, request)
  const segments = stored === undefined ? [] : segmentsOf(stored)
  const next = stored?.next ?? 0
  const segment = segments.at(-1)
  if (segment?.attempt === attempt) return { next, segments: segments.slice(0, -1), segment, isNew: false }
  if (stored === undefined) {
    const record = { ...draftOf(run.record, now), streams: [...run.record.streams, key] }
    replaceRun(session, run, { record, act: request })
  }
  const opened = { next, segments: segments.map(shownSegment), segment: { attempt, first: next } }
  writeStream(session, request, opened)
  session.hints.stream(runId, key, by)
  return { ...opened, isNew: true }
}

function writeStream(
  { database }: SqliteSession,
  { runId, key }: StreamName,
  { next, segments, segment }: OpenStream,
): void {
  database.run(
    'INSERT OR REPLACE INTO streams (run_id, key, next, segments) VALUES (?, ?, ?, ?)',
    runId,
    key,
    next,
    JSON.stringify([...segments, segment]),
  )
}

function appendChunks(session: SqliteSession, request: ChunkAppend): 'appended' | 'stale' | ChunksMoved {
  const { runId, key, by } = request
  const run = writableRun(session, request)
  if (run === undefined) return 'stale'
  const stream = findStream(session, request)
  const { segments, segment } = openSegment(run.record, stream, request)
  const next = stream?.next ?? 0
  const plan = planAppend({ request, next, shared: segment.shared, end: segment.end })
  if (plan.isMoved) return { next }
  checkPlace(request, { segment, next, isAcross: plan.isAcross })
  checkRepeat(session, request, plan.own)
  checkEnd(request, plan.ended)

  const { fresh } = plan
  if (fresh.length > 0) writeChunkRow(session, { runId, key, first: next, chunks: fresh })
  const changed = changedSegment(segment, plan)
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

function addChunks(session: SqliteSession, request: ChunkAdd): 'added' | 'stale' | 'closed' {
  const { runId, key, fence, end, written, by } = request
  if (isStaleAttempt(session, request)) return 'stale'
  const run = findRun(session, runId)
  if (run === undefined || !hasOpenStreams(run.record)) return 'closed'
  const { next, segments, segment, isNew } = lastSegment(session, run, request)
  const alone = isNew ? {} : { own: next, ownEnd: segment.end }
  const shared = segment.shared ?? { ...alone, others: new OtherWriters() }
  shared.others.note(fence.runId, end)
  const fresh = notStored(request, written && findWriter(session, { runId, key, writer: written.writer }))
  if (fresh.length > 0) writeChunkRow(session, { runId, key, first: next, chunks: fresh })
  writeStream(session, request, {
    next: next + fresh.length,
    segments,
    segment: shareSegment(segment, shared),
  })
  if (written !== undefined) noteWriter(session, request, written)
  session.hints.stream(runId, key, by)
  return 'added'
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
  const from = Math.max(0, request.from)
  const chunks = from < stream.next ? readChunkRows(session, { ...request, from }) : []
  const record = wholeStream(request, stream.next, segmentsOf(stream).map(shownSegment))
  const read = { stream: record, first: from, chunks }
  return request.writer === undefined ? read : { ...read, written: findWriter(session, request) }
}

/** The number of the last chunk of a writer. */
function findWriter(
  { database }: SqliteSession,
  { runId, key, writer = '' }: StreamName & Pick<ChunkRead, 'writer'>,
): number | undefined {
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
): { readonly segments: readonly StoredSegment[]; readonly segment: StoredSegment } {
  const segments = stream === undefined ? [] : segmentsOf(stream)
  const segment = segments.at(-1)
  const isOpened = segment?.shared === undefined || segment.shared.own !== undefined
  if (segment?.attempt === record.attempt && isOpened) return { segments, segment }
  throw refused(request, `attempt ${record.attempt} has not opened it`)
}

interface AppendPlace {
  readonly segment: SegmentRecord
  readonly next: number
  /** Some of the chunks are stored, and those of other runs come after these. */
  readonly isAcross: boolean
}

function checkPlace(request: ChunkAppend, { segment, next, isAcross }: AppendPlace): void {
  if (request.first > next || isAcross) throw refused(request, `its next chunk is ${next}`)
  if (request.first < segment.first) throw refused(request, `this attempt writes from ${segment.first}`)
}

/** Checks that repeated chunks are equal to the stored ones. */
function checkRepeat(session: SqliteSession, request: ChunkAppend, own: number): void {
  const { runId, key, first, chunks } = request
  const count = Math.min(chunks.length, own - first)
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
