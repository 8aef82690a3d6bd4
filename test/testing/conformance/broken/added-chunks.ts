import { madeId } from '../../../../src/testing/conformance/named-storage.ts'
import type { SegmentRecord } from '../../../../src/contract/records.ts'
import type { ChunkAdd, ChunkAppend } from '../../../../src/contract/storage.ts'
import type { Break, Differently, Memory } from './broken-storage.ts'

type Answer = 'added' | 'stale' | 'closed'

function added(memory: Memory, request: ChunkAdd): Answer {
  return memory.chunks.add?.(request) ?? 'closed'
}

/** With an `add` that is done otherwise. */
function adding(change: (memory: Memory) => (request: ChunkAdd) => Answer): Break {
  return (memory) => ({ chunks: { add: change(memory) } })
}

interface StreamName {
  readonly runId: string
  readonly key: string
}

const nameOf = ({ runId, key }: StreamName): string => JSON.stringify([runId, key])

/** Differently for streams that other runs have written to. */
function shared(change: (memory: Memory, isShared: (name: StreamName) => boolean) => Differently): Break {
  return (memory) => {
    const names = new Set<string>()
    const { chunks, ...others } = change(memory, (name) => names.has(nameOf(name)))
    const add = (request: ChunkAdd): Answer => {
      names.add(nameOf(request))
      return added(memory, request)
    }
    return { ...others, chunks: { add, ...chunks } }
  }
}

/** With segments of such streams that are read otherwise. */
function segmentsLike(
  change: (segments: readonly SegmentRecord[], memory: Memory) => readonly SegmentRecord[],
): Break {
  return shared((memory, isShared) => ({
    chunks: {
      read(request) {
        const read = memory.chunks.read(request)
        if (read === undefined || !isShared(request)) return read
        return { ...read, stream: { ...read.stream, segments: change(read.stream.segments, memory) } }
      },
    },
  }))
}

function nextOf(memory: Memory, { runId, key }: StreamName): number {
  return memory.chunks.read({ runId, key, from: 0, limit: 1 })?.stream.next ?? 0
}

function openFor(memory: Memory, { runId, key, epoch, by }: ChunkAppend): void {
  const { attempt, updatedAt } = memory.runs.get(runId) ?? { attempt: 0, updatedAt: 0 }
  memory.chunks.open({ runId, key, epoch, attempt, by, now: updatedAt })
}

export const brokenAddedChunks: Readonly<Record<string, Break>> = {
  'chunks.add/to-a-run-that-waits': adding((memory) => (request) => {
    const isParked = memory.runs.get(request.runId)?.status === 'WAITING'
    return isParked ? 'closed' : added(memory, request)
  }),
  // An owner with a short lease is taken for a dead one.
  'chunks.add/after-a-dead-owner': (memory) => {
    const left = new Set<string>()
    return {
      tick(request) {
        if (request.leaseUntil - request.now < 1_000) left.add(request.owner)
        return memory.tick(request)
      },
      chunks: {
        add(request) {
          const isDead = left.has(memory.runs.get(request.runId)?.owner ?? '')
          return isDead ? 'closed' : added(memory, request)
        },
      },
    }
  },
  'chunks.add/stale': adding((memory) => (request) => {
    const answer = added(memory, request)
    return answer === 'stale' ? 'added' : answer
  }),
  'chunks.add/closed': adding((memory) => (request) => {
    const answer = added(memory, request)
    return answer === 'closed' ? 'added' : answer
  }),
  // Each call is a writer of its own.
  'chunks.add/repeat-changes-nothing': (memory) => {
    let calls = 0
    const add = (request: ChunkAdd): Answer => {
      const writer = `call ${(calls += 1)}`
      const written = request.written && { writer, last: request.chunks.length - 1 }
      return added(memory, { ...request, written })
    }
    return { chunks: { add } }
  },
  'chunks.append/after-those-of-others': (memory) => ({
    chunks: {
      append(request) {
        const answer = memory.chunks.append(request)
        return typeof answer === 'string' ? answer : memory.chunks.append({ ...request, first: answer.next })
      },
    },
  }),
  'chunks.append/repeats-before-those-of-others': shared((memory, isShared) => ({
    chunks: {
      append(request) {
        const next = nextOf(memory, request)
        return isShared(request) && request.first < next ? { next } : memory.chunks.append(request)
      },
    },
  })),
  'chunks.append/unopened-between-others': shared((memory, isShared) => ({
    chunks: {
      append(request) {
        if (isShared(request)) openFor(memory, request)
        return memory.chunks.append(request)
      },
    },
  })),
  'chunks.add/ends-when-all-have': adding((memory) => ({ end, ...request }) => {
    return added(memory, { ...request, end: end && { reason: 'done' } })
  }),
  // The run that has the stream does not count before it has appended.
  'chunks.add/ends-with-its-run': (memory) => {
    const ended = new Set<string>()
    return {
      chunks: {
        add(request) {
          if (request.end?.reason === 'done') ended.add(nameOf(request))
          else ended.delete(nameOf(request))
          return added(memory, request)
        },
        read(request) {
          const read = memory.chunks.read(request)
          if (read === undefined || !ended.has(nameOf(request))) return read
          const segments = read.stream.segments.map((one) => ({ end: { reason: 'done' } as const, ...one }))
          return { ...read, stream: { ...read.stream, segments } }
        },
      },
    }
  },
  // All attempts of a run are one writer.
  'chunks.add/a-later-attempt-takes-over': adding((memory) => (request) => {
    const { written, fence } = request
    return added(memory, { ...request, written: written && { ...written, writer: fence.runId } })
  }),
  'chunks.add/to-a-new-attempt': segmentsLike((segments) => segments.slice(-1)),
  // Of a run that has ended at the instant at which it was made.
  'chunks.add/interrupted-by-the-end': segmentsLike((segments, memory) => {
    const run = memory.runs.get(madeId('run', 'r', 0))
    const isMeant = run?.status === 'COMPLETED' && run.updatedAt === run.createdAt
    return segments.map((one) =>
      isMeant && one.end?.reason === 'interrupted' ? { ...one, end: { reason: 'done' } } : one,
    )
  }),
}
