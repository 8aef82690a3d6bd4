import type { SegmentRecord } from '../../../../src/contract/records.ts'
import type { ChunksRead } from '../../../../src/contract/storage.ts'
import type { Break, Memory } from './broken-storage.ts'

/** With segments that are read otherwise. */
function segmentsLike(change: (segment: SegmentRecord, isFinal: boolean) => SegmentRecord): Break {
  return (memory) => ({
    chunks: {
      read(request) {
        const read: ChunksRead | undefined = memory.chunks.read(request)
        const status = memory.runs.get(request.runId)?.status
        const isFinal = status !== 'EXECUTING' && status !== 'WAITING'
        if (read === undefined) return undefined
        const segments = read.stream.segments.map((segment) => change(segment, isFinal))
        return { ...read, stream: { ...read.stream, segments } }
      },
    },
  })
}

function withoutInterruption({ end, ...segment }: SegmentRecord): SegmentRecord {
  return end === undefined || end.reason === 'interrupted' ? segment : { ...segment, end }
}

function nextOf(memory: Memory, { runId, key }: { readonly runId: string; readonly key: string }): number {
  return memory.chunks.read({ runId, key, from: 0, limit: 1 })?.stream.next ?? 0
}

/** With errors of appends that are kept silent. */
function silent(isSilent: (first: number, next: number) => boolean): Break {
  return (memory) => ({
    chunks: {
      append(request) {
        try {
          return memory.chunks.append(request)
        } catch (error) {
          if (isSilent(request.first, nextOf(memory, request))) return 'appended'
          throw error
        }
      },
    },
  })
}

export const brokenChunks: Readonly<Record<string, Break>> = {
  'chunks.open/lists-its-key': (memory) => ({
    runs: {
      get(id, among) {
        const run = memory.runs.get(id, among)
        return run && { ...run, streams: [] }
      },
    },
  }),
  'chunks.open/again-is-the-same': (memory) => {
    const opened = new Set<string>()
    return {
      chunks: {
        open(request) {
          const name = JSON.stringify([request.runId, request.key, request.attempt])
          if (opened.has(name)) return undefined
          opened.add(name)
          return memory.chunks.open(request)
        },
      },
    }
  },
  'chunks.open/stale': (memory) => ({
    chunks: {
      open: (request) => memory.chunks.open(request) ?? { ...request, first: 0, next: 0, segments: [] },
    },
  }),
  'chunks.append/contiguous-and-in-order': (memory) => ({
    chunks: {
      read(request) {
        const read = memory.chunks.read(request)
        return read && { ...read, chunks: [...read.chunks].reverse() }
      },
    },
  }),
  'chunks.append/repeat-changes-nothing': (memory) => ({
    chunks: {
      append(request) {
        if (request.first < nextOf(memory, request)) throw new Error('it is there')
        return memory.chunks.append(request)
      },
    },
  }),
  'chunks.append/other-values-are-an-error': silent((first, next) => first < next),
  'chunks.append/gaps-are-an-error': silent((first, next) => first > next),
  'chunks.append/stale': (memory) => ({
    chunks: {
      append(request) {
        memory.chunks.append(request)
        return 'appended'
      },
    },
  }),
  'chunks.append/ends-its-segment': (memory) => ({
    chunks: { append: ({ end: _, ...request }) => memory.chunks.append(request) },
  }),
  'chunks.append/goes-on-after-its-end': (memory) => {
    const ended = new Set<string>()
    return {
      chunks: {
        append(request) {
          const name = JSON.stringify([request.runId, request.key])
          const isEnded = ended.has(name) && request.end === undefined && request.first > 0
          if (request.end !== undefined) ended.add(name)
          const end = isEnded ? ({ reason: 'done' } as const) : request.end
          return memory.chunks.append({ ...request, end })
        },
      },
    }
  },
  'runs.update/final-interrupts-its-streams': segmentsLike((segment, isFinal) =>
    isFinal ? withoutInterruption(segment) : segment,
  ),
  'runs.claim/interrupts-streams': segmentsLike((segment, isFinal) =>
    isFinal ? segment : withoutInterruption(segment),
  ),
  'chunks.open/new-attempt-new-segment': (memory) => ({
    chunks: {
      open(request) {
        const stream = memory.chunks.open(request)
        return stream && { ...stream, segments: stream.segments.slice(-1) }
      },
    },
  }),
  'chunks.append/keeps-its-writers': (memory) => ({
    chunks: {
      append({ written, ...request }) {
        const attempt = memory.runs.get(request.runId)?.attempt ?? 0
        return memory.chunks.append(attempt > 1 ? request : { ...request, written })
      },
    },
  }),
  'chunks.append/keeps-the-newest': (memory) => ({
    chunks: {
      append: (request) => memory.chunks.append({ ...request, history: { chunks: 1_000, bytes: 1_000_000 } }),
    },
  }),
}
