import type { ChunkRecord, SegmentEnd, SegmentRecord, StreamRecord } from '../../contract/records.ts'
import type {
  ChunkAppend,
  ChunkRead,
  ChunksRead,
  ChunkStore,
  StreamOpen,
  WriterProgress,
} from '../../contract/storage.ts'
import { RingBuffer } from '../../primitives/ring-buffer.ts'
import { type RunEntry, StreamEntry } from './entries.ts'
import { fencedRun, type MemoryState } from './state.ts'
import { draftOf } from '../run-draft.ts'

/** The streams of a memory storage: the newest chunks of each, as many as their writer says. */
export function memoryChunks(state: MemoryState): ChunkStore {
  const { hints } = state
  return {
    open(request) {
      const stream = openStream(state, request)
      hints.flush()
      return stream
    },
    append(request) {
      const outcome = appendChunks(state, request)
      hints.flush()
      return outcome
    },
    read: (request) => readChunks(state, request),
  }
}

function openStream(state: MemoryState, request: StreamOpen): StreamRecord | undefined {
  const { runId, key, attempt, by, now } = request
  const run = writableRun(state, request)
  if (run === undefined) return undefined

  run.streams ??= new Map<string, StreamEntry>()
  let stream = run.streams.get(key)
  if (stream === undefined) {
    run.streams.set(key, (stream = new StreamEntry()))
    const draft = draftOf(run.record, now)
    draft.streams = [...draft.streams, key]
    state.runs.replace(run, draft, request)
  }
  if (stream.segments.at(-1)?.attempt !== attempt) {
    stream.segments = [...stream.segments, { attempt, first: stream.ring?.next ?? 0 }]
    state.hints.stream(runId, key, by)
  }
  return streamRecord(request, stream)
}

function appendChunks(state: MemoryState, request: ChunkAppend): 'appended' | 'stale' {
  const { runId, key, first, chunks, end, written, history, by } = request
  const run = writableRun(state, request)
  if (run === undefined) return 'stale'
  const { stream, segment } = openSegment(run, request)
  const next = stream.ring?.next ?? 0
  const fresh = first === next ? chunks : chunks.slice(Math.max(0, next - first))
  checkPlace(request, { segment, next })
  checkRepeat(request, stream.ring)
  // A segment that gets chunks after its end is open again, until it is ended anew.
  const ended = fresh.length > 0 ? undefined : segment.end
  checkEnd(request, ended)

  if (fresh.length > 0) {
    stream.ring ??= new RingBuffer<ChunkRecord>({ capacity: history.chunks, maxBytes: history.bytes })
    for (const chunk of fresh) stream.ring.push(chunk, chunk.bytes)
  }
  if (ended === undefined && end !== segment.end) {
    const written = { attempt: segment.attempt, first: segment.first }
    stream.segments = [...stream.segments.slice(0, -1), end === undefined ? written : { ...written, end }]
  }
  if (written !== undefined)
    noteWriters((stream.writers ??= new Map<string, number>()), written, history.chunks)
  state.hints.stream(runId, key, by)
  return 'appended'
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
  if (stream !== undefined && segment?.attempt === record.attempt) return { stream, segment }
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

function checkPlace(
  request: ChunkAppend,
  { segment, next }: { readonly segment: SegmentRecord; readonly next: number },
): void {
  if (request.first > next) throw new Error(`${cannotAppend(request)}: its next chunk is ${next}`)
  if (request.first < segment.first) {
    throw new Error(`${cannotAppend(request)}: this attempt writes from ${segment.first}`)
  }
}

/** Checks that repeated chunks are equal to the kept ones; chunks that have left the history cannot be compared. */
function checkRepeat(request: ChunkAppend, ring: RingBuffer<ChunkRecord> | undefined): void {
  if (ring === undefined || request.first === ring.next) return
  const from = Math.max(request.first, ring.first)
  const stored = ring.read(from, request.chunks.length - (from - request.first))
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
