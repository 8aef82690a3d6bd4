import type { ChunkRecord, SegmentEnd, SegmentRecord, StreamRecord } from '../../contract/records.ts'
import type {
  ChunkAdd,
  ChunkAppend,
  ChunkRead,
  ChunksMoved,
  ChunksRead,
  ChunkStore,
  StreamHistory,
  StreamOpen,
  WriterProgress,
} from '../../contract/storage.ts'
import { RingBuffer } from '../../primitives/ring-buffer.ts'
import { type RunEntry, StreamEntry } from './entries.ts'
import { fencedRun, isStale, type MemoryState, telling } from './state.ts'
import { draftOf } from '../run-draft.ts'
import {
  endOfAll,
  hasOpenStreams,
  notStored,
  OtherWriters,
  planAppend,
  type SegmentWriters,
  withOpened,
} from '../stream-writers.ts'

/** The streams of a memory storage: the newest chunks of each, as many as their writer says. */
export function memoryChunks(state: MemoryState): ChunkStore {
  return {
    open: telling(state, openStream),
    append: telling(state, appendChunks),
    add: telling(state, addChunks),
    read: (request) => readChunks(state, request),
  }
}

function openStream(state: MemoryState, request: StreamOpen): StreamRecord | undefined {
  const run = writableRun(state, request)
  if (run === undefined) return undefined
  const { stream } = lastSegment(state, run, request)
  if (stream.shared !== undefined) share(stream, withOpened(stream.shared, nextOf(stream)))
  return streamRecord(request, stream)
}

/** The segment of the last attempt, which is opened if it is not there yet. */
function lastSegment(
  state: MemoryState,
  run: RunEntry,
  request: Pick<StreamOpen, 'runId' | 'key' | 'by' | 'now'>,
): { readonly stream: StreamEntry; readonly isNew: boolean } {
  const { runId, key, by, now } = request
  const { attempt } = run.record
  run.streams ??= new Map<string, StreamEntry>()
  let stream = run.streams.get(key)
  if (stream === undefined) {
    run.streams.set(key, (stream = new StreamEntry()))
    const draft = draftOf(run.record, now)
    draft.streams = [...draft.streams, key]
    state.runs.replace(run, draft, request)
  }
  const isNew = stream.segments.at(-1)?.attempt !== attempt
  if (isNew) {
    stream.segments = [...stream.segments, { attempt, first: nextOf(stream) }]
    stream.shared = undefined
    state.hints.stream(runId, key, by)
  }
  return { stream, isNew }
}

function appendChunks(state: MemoryState, request: ChunkAppend): 'appended' | 'stale' | ChunksMoved {
  const { runId, key, written, history, by } = request
  const run = writableRun(state, request)
  if (run === undefined) return 'stale'
  const { stream, segment } = openSegment(run, request)
  const next = nextOf(stream)
  const plan = planAppend({ request, next, shared: stream.shared, end: segment.end })
  if (plan.isMoved) return { next }
  checkPlace(request, { segment, next, isAcross: plan.isAcross })
  checkRepeat(request, stream.ring, plan.own)
  checkEnd(request, plan.ended)

  push(stream, plan.fresh, history)
  stream.shared = plan.shared
  endSegment(stream, plan.end)
  if (written !== undefined)
    noteWriters((stream.writers ??= new Map<string, number>()), written, history.chunks)
  state.hints.stream(runId, key, by)
  return 'appended'
}

function addChunks(state: MemoryState, request: ChunkAdd): 'added' | 'stale' | 'closed' {
  const { runId, key, fence, end, written, history, by } = request
  if (isStale(state, request)) return 'stale'
  const run = state.runs.table.get(runId)
  if (run === undefined || !hasOpenStreams(run.record)) return 'closed'
  const { stream, isNew } = lastSegment(state, run, request)
  const alone = isNew ? {} : { own: nextOf(stream), ownEnd: stream.segments.at(-1)?.end }
  const shared = stream.shared ?? { ...alone, others: new OtherWriters() }
  push(stream, notStored(request, stream.writers?.get(written?.writer ?? '')), history)
  shared.others.note(fence.runId, end)
  share(stream, shared)
  if (written !== undefined)
    noteWriters((stream.writers ??= new Map<string, number>()), [written], history.chunks)
  state.hints.stream(runId, key, by)
  return 'added'
}

function push(stream: StreamEntry, chunks: readonly ChunkRecord[], history: StreamHistory): void {
  if (chunks.length === 0) return
  stream.ring ??= new RingBuffer<ChunkRecord>({ capacity: history.chunks, maxBytes: history.bytes })
  for (const chunk of chunks) stream.ring.push(chunk, chunk.bytes)
}

function share(stream: StreamEntry, shared: SegmentWriters): void {
  stream.shared = shared
  endSegment(stream, endOfAll(shared))
}

function endSegment(stream: StreamEntry, end: SegmentEnd | undefined): void {
  const last = stream.segments.at(-1)
  if (last === undefined || last.end === end) return
  const { attempt, first } = last
  const segment = end === undefined ? { attempt, first } : { attempt, first, end }
  stream.segments = [...stream.segments.slice(0, -1), segment]
}

function nextOf({ ring }: StreamEntry): number {
  return ring?.next ?? 0
}

/** Notes how far writers have got, and forgets those that wrote longest ago. */
function noteWriters(writers: Map<string, number>, written: readonly WriterProgress[], most: number): void {
  for (const { writer, last } of written) {
    const known = writers.get(writer) ?? -1
    writers.delete(writer)
    writers.set(writer, Math.max(known, last))
    const [oldest] = writers.size > most ? writers.keys() : []
    if (oldest !== undefined) writers.delete(oldest)
  }
}

/** The segment of the current attempt. */
function openSegment(
  { record, streams }: RunEntry,
  request: ChunkAppend,
): { readonly stream: StreamEntry; readonly segment: SegmentRecord } {
  const stream = streams?.get(request.key)
  const segment = stream?.segments.at(-1)
  const isOpened = stream?.shared === undefined || stream.shared.own !== undefined
  if (stream !== undefined && segment?.attempt === record.attempt && isOpened) return { stream, segment }
  throw new Error(`${cannotAppend(request)}: attempt ${record.attempt} has not opened it`)
}

function readChunks({ runs }: MemoryState, request: ChunkRead): ChunksRead | undefined {
  const stream = runs.table.get(request.runId)?.streams?.get(request.key)
  if (stream === undefined) return undefined
  const first = Math.max(request.from, stream.ring?.first ?? 0)
  const read = {
    stream: streamRecord(request, stream),
    first,
    chunks: stream.ring?.read(first, request.limit) ?? [],
  }
  const { writer } = request
  return writer === undefined ? read : { ...read, written: stream.writers?.get(writer) }
}

function streamRecord(
  { runId, key }: { readonly runId: string; readonly key: string },
  { ring, segments }: StreamEntry,
): StreamRecord {
  return { runId, key, first: ring?.first ?? 0, next: ring?.next ?? 0, segments }
}

/** The run, if the writer's attempt is still the current one. */
function writableRun(
  state: MemoryState,
  { runId, epoch, by }: { readonly runId: string; readonly epoch: number; readonly by: string },
): RunEntry | undefined {
  return fencedRun(state, { id: runId, epoch, by })
}

interface AppendPlace {
  readonly segment: SegmentRecord
  readonly next: number
  /** Some of the chunks are stored, and those of other runs come after these. */
  readonly isAcross: boolean
}

function checkPlace(request: ChunkAppend, { segment, next, isAcross }: AppendPlace): void {
  if (request.first > next || isAcross) throw new Error(`${cannotAppend(request)}: its next chunk is ${next}`)
  if (request.first < segment.first) {
    throw new Error(`${cannotAppend(request)}: this attempt writes from ${segment.first}`)
  }
}

/** Checks that repeated chunks are equal to the kept ones; chunks that have left the history cannot be compared. */
function checkRepeat(request: ChunkAppend, ring: RingBuffer<ChunkRecord> | undefined, own: number): void {
  if (ring === undefined || request.first >= own) return
  const from = Math.max(request.first, ring.first)
  const stored = ring.read(from, Math.max(0, Math.min(own, request.first + request.chunks.length) - from))
  stored.forEach((chunk, index) => {
    const said = request.chunks[from - request.first + index]
    if (said !== undefined && isSame(chunk, said)) return
    throw new Error(`${cannotAppend(request)}: chunk ${from + index} is there with another value`)
  })
}

function checkEnd(request: ChunkAppend, end: SegmentEnd | undefined): void {
  if (end === undefined || request.end === undefined) return
  if (JSON.stringify(request.end) === JSON.stringify(end)) return
  throw new Error(`${cannotAppend(request)}: this attempt has ended it, reason "${end.reason}"`)
}

function isSame(one: ChunkRecord, other: ChunkRecord): boolean {
  return one === other || one.text === other.text
}

function cannotAppend({ runId, key, first }: ChunkAppend): string {
  return `Cannot append chunks from ${first} to stream "${key}" of run "${runId}"`
}
