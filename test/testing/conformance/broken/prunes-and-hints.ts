import type { ChunksRead, Hint, PruneRequest, RunUpdate } from '../../../../src/contract/storage.ts'
import type { Break } from './broken-storage.ts'
import { attempted } from './claims.ts'

function pruningLike(change: (request: PruneRequest) => Partial<PruneRequest>): Break {
  return (memory) => ({ prune: (request) => memory.prune({ ...request, ...change(request) }) })
}

const childrenGoBeforeTheirRoot: Break = (memory) => {
  const gone = new Set<string>()
  return {
    prune(request) {
      for (const run of memory.runs.list({ status: ['COMPLETED'] }, { limit: 100 }).records)
        if (run.rootId !== run.id) gone.add(run.id)
      return memory.prune(request)
    },
    runs: { get: (id, among) => (gone.has(id) ? undefined : memory.runs.get(id, among)) },
  }
}

const childrenGoWithTheirRoot: Break = (memory) => {
  const gone = new Set<string>()
  return {
    prune(request) {
      for (const run of memory.runs.list({ status: ['COMPLETED'] }, { limit: 100 }).records)
        if (run.rootId !== run.id && memory.runs.get(run.rootId)?.status === 'COMPLETED') gone.add(run.id)
      return memory.prune(request)
    },
    runs: { get: (id, among) => (gone.has(id) ? undefined : memory.runs.get(id, among)) },
  }
}

const waitsHoldNothing: Break = (memory) => ({
  prune(request) {
    const filter = { kind: 'MANUAL', status: ['COMPLETED'] } as const
    for (const { id: tokenId } of memory.tokens.list(filter, { limit: 100 }, request.now).records)
      for (const { id: runId, owner = '' } of attempted(memory))
        memory.tokens.release([{ tokenId, runId, owner }])
    return memory.prune(request)
  },
})

const answersGoByTheirAge: Break = (memory) => {
  const gone = new Set<string>()
  return {
    prune(request) {
      const filter = { kind: 'MANUAL', status: ['COMPLETED'] } as const
      for (const token of memory.tokens.list(filter, { limit: 100 }, request.now).records)
        if (token.timeoutAt !== undefined && (token.completedAt ?? 0) < request.before) gone.add(token.id)
      return memory.prune(request)
    },
    tokens: { get: (id, now) => (gone.has(id) ? undefined : memory.tokens.get(id, now)) },
  }
}

const chunksStay: Break = (memory) => {
  const written = new Map<string, ChunksRead | undefined>()
  const nameOf = ({ runId, key }: { readonly runId: string; readonly key: string }): string =>
    JSON.stringify([runId, key])
  return {
    chunks: {
      append(request) {
        const answer = memory.chunks.append(request)
        written.set(nameOf(request), memory.chunks.read({ ...request, from: 0, limit: 100 }))
        return answer
      },
      read: (request) => memory.chunks.read(request) ?? written.get(nameOf(request)),
    },
  }
}

const slotsEndWithPruning: Break = (memory) => ({
  prune(request) {
    for (const { id } of memory.runs.list({ status: ['CANCELED'] }, { limit: 100 }).records)
      memory.runs.update({
        id,
        expected: { status: ['CANCELED'] },
        change: { slot: false },
        by: 'prune',
        now: request.now,
      })
    return memory.prune(request)
  },
})

export const brokenPrunes: Readonly<Record<string, Break>> = {
  'prune/keeps-what-is-younger': pruningLike(({ before }) => ({ before: before + 1 })),
  'prune/drops-what-is-over': () => ({ prune: () => 0 }),
  'prune/small-batches': pruningLike(() => ({ limit: 1_000 })),
  'prune/drops-streams': chunksStay,
  'prune/keeps-what-has-a-slot': slotsEndWithPruning,
  'prune/keeps-what-a-key-holds': pruningLike(({ now }) => ({ now: now + 1_000 })),
  'prune/keeps-what-a-root-may-see': childrenGoBeforeTheirRoot,
  'prune/keeps-what-was-asked-for': childrenGoWithTheirRoot,
  'prune/keeps-what-is-waited-for': waitsHoldNothing,
  'prune/keeps-an-answer-to-come': answersGoByTheirAge,
  'prune/keeps-the-newest': pruningLike(() => ({ keep: undefined })),
}

function deaf(topic: Hint['topic']): Break {
  return (memory) => ({
    subscribe: (owner, listener) =>
      memory.subscribe(owner, (hint) => {
        if (hint.topic !== topic) listener(hint)
      }),
  })
}

/** Tells of nothing to claim once such a change of a run has come, until another one does. */
function deafAfter(isMeant: (request: RunUpdate) => boolean): Break {
  return (memory) => {
    let isDeaf = false
    return {
      runs: {
        update(request) {
          isDeaf = isMeant(request)
          return memory.runs.update(request)
        },
      },
      subscribe: (owner, listener) =>
        memory.subscribe(owner, (hint) => {
          if (!isDeaf || hint.topic !== 'queue') listener(hint)
        }),
    }
  }
}

export const brokenHints: Readonly<Record<string, Break>> = {
  'subscribe/tells-the-others': deaf('stream'),
  'subscribe/tells-of-runs-that-go-on': deafAfter(
    ({ change }) => change.status === 'EXECUTING' && !('owner' in change),
  ),
  'subscribe/tells-of-free-slots': deafAfter(({ change }) => change.status === 'CANCELED'),
  'subscribe/tells-who-waits': deaf('waits'),
  'subscribe/names-runs-that-answer': (memory) => ({
    subscribe: (owner, listener) =>
      memory.subscribe(owner, (hint) => {
        listener(hint.topic === 'waits' ? { ...hint, runIds: ['r'] } : hint)
      }),
  }),
  'subscribe/tells-an-end': (memory) => ({
    subscribe: (owner, listener) =>
      memory.subscribe(owner, (hint) => {
        listener(hint.topic === 'run' ? { ...hint, goesOn: true } : hint)
      }),
  }),
  'subscribe/not-of-ones-own': (memory) => ({
    subscribe(owner, listener) {
      const unsubscribe = memory.subscribe(owner, listener)
      const unsubscribeOther = memory.subscribe(`${owner}, who never calls`, listener)
      return () => {
        unsubscribe()
        unsubscribeOther()
      }
    },
  }),
  'subscribe/ends': (memory) => ({
    subscribe(owner, listener) {
      memory.subscribe(owner, listener)
      return () => undefined
    },
  }),
}
