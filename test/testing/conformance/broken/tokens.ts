import type { TokenRecord, WaitRecord } from '../../../../src/contract/records.ts'
import type { TokenAwaited, TokenRead, TokenSettle, TokenSettled } from '../../../../src/contract/storage.ts'
import type { Break, Memory } from './broken-storage.ts'

function readLike(change: (read: TokenRead) => TokenRead): Break {
  return (memory) => ({
    tokens: {
      get(id, now) {
        const read = memory.tokens.get(id, now)
        return read && change(read)
      },
    },
  })
}

function settledLike(change: (settled: TokenSettled, request: TokenSettle) => Partial<TokenSettled>): Break {
  return (memory) => ({
    tokens: {
      settle(request) {
        const settled = memory.tokens.settle(request)
        if (settled === undefined || settled === 'stale') return settled
        return { ...settled, ...change(settled, request) }
      },
    },
  })
}

function settlingLike(change: (request: TokenSettle, memory: Memory) => Partial<TokenSettle>): Break {
  return (memory) => ({
    tokens: { settle: (request) => memory.tokens.settle({ ...request, ...change(request, memory) }) },
  })
}

function awaitedLike(change: (awaited: TokenAwaited) => TokenAwaited): Break {
  return (memory) => ({ tokens: { await: (request) => change(memory.tokens.await(request)) } })
}

/** What is due is answered as timed out, and not written. */
const timedOutInTheAnswerOnly: Break = (memory) => {
  const told = new Set<string>()
  return {
    tokens: {
      get(id, now) {
        const read = memory.tokens.get(id, -Infinity)
        const { timeoutAt = Infinity, status, kind } = read?.record ?? {}
        if (read === undefined || status !== 'WAITING' || now < timeoutAt) return read
        const settledNow = !told.has(id)
        told.add(id)
        const ended = kind === 'SLEEP' ? 'COMPLETED' : 'TIMED_OUT'
        return { record: { ...read.record, status: ended, completedAt: timeoutAt }, settledNow }
      },
    },
    tick(request) {
      const ticked = memory.tick(request)
      return { ...ticked, settled: ticked.settled.filter(({ id }) => !told.has(id)) }
    },
  }
}

const waitsAreRegisteredForSettledTokens: Break = (memory) => {
  const waits: WaitRecord[] = []
  return {
    tokens: {
      await(request) {
        const awaited = memory.tokens.await(request)
        const { tokenId, runId, by } = request
        if (awaited.outcome === 'settled') waits.push({ tokenId, runId, owner: by })
        return awaited
      },
    },
    tick(request) {
      const ticked = memory.tick(request)
      return { ...ticked, ready: [...ticked.ready, ...waits] }
    },
  }
}

const everyAwaitIsAWait: Break = (memory) => {
  const awaited: string[] = []
  return {
    tokens: {
      await(request) {
        awaited.push(`${request.tokenId} ${request.runId}`)
        return memory.tokens.await(request)
      },
    },
    tick(request) {
      const ticked = memory.tick(request)
      const times = (wait: WaitRecord): WaitRecord[] =>
        awaited.filter((one) => one === `${wait.tokenId} ${wait.runId}`).map(() => wait)
      return { ...ticked, ready: ticked.ready.flatMap(times) }
    },
  }
}

/** Resumes the run that a settle names, if `may` lets it, whatever is set of its queue. */
function resuming(may: (request: TokenSettle, settled: TokenSettled) => boolean): Break {
  return (memory) => ({
    resumesWaiting: true,
    tokens: {
      settle(request) {
        const settled = memory.tokens.settle(request)
        const { resume, by, now } = request
        if (resume === undefined || settled === undefined || settled === 'stale') return settled
        const { runId: id, epoch, parks } = resume
        const fence = { id, epoch, parks, by, now }
        if (!may(request, settled)) return settled
        const resumed = memory.runs.resume(fence)
        if (resumed.outcome === 'resumed') return { ...settled, resumed: resumed.record }
        const change = { status: 'EXECUTING' } as const
        const expected = { status: ['WAITING'] as const, epoch }
        const updated =
          resumed.outcome === 'full' ? memory.runs.update({ id, expected, change, by, now }) : undefined
        return { ...settled, resumed: updated?.record }
      },
    },
  })
}

export const brokenTokens: Readonly<Record<string, Break>> = {
  'tokens.settle/resumes-the-run-that-waits': () => ({ resumesWaiting: true }),
  'tokens.settle/resumes-no-other-run': resuming((_request, { won }) => won),
  'tokens.settle/resumes-nothing-beyond-its-queue': resuming(
    ({ resume }, { won, ready }) => won && ready.some(({ runId }) => runId === resume?.runId),
  ),
  // The deadline stays where it was.
  'tokens.settle/times-out-early': (memory) => {
    const settled = new Map<string, number>()
    const as = (record: TokenRecord): TokenRecord => {
      const timeoutAt = settled.get(record.id)
      return timeoutAt === undefined ? record : { ...record, timeoutAt }
    }
    return {
      tokens: {
        get: (...args) => {
          const read = memory.tokens.get(...args)
          return read && { ...read, record: as(read.record) }
        },
        settle(request) {
          const before = memory.tokens.get(request.id, -Infinity)?.record.timeoutAt
          const answer = memory.tokens.settle(request)
          if (answer === undefined || answer === 'stale') return answer
          if (request.isTimeOut === true && before !== undefined) settled.set(request.id, before)
          return { ...answer, record: as(answer.record) }
        },
      },
    }
  },
  // A run whose wait was released is still there.
  'tokens.get/lists-waiters': (memory) => {
    const waiting = new Set<string>()
    return {
      tokens: {
        await(request) {
          waiting.add(request.runId)
          return memory.tokens.await(request)
        },
        get(id, now, extras) {
          const read = memory.tokens.get(id, now)
          const waits = read?.record.status === 'WAITING' ? [...waiting] : []
          return read && { ...read, waiters: waits.sort().slice(0, extras?.waiters) }
        },
      },
    }
  },
  'tokens.get/times-out-at-the-deadline': (memory) => ({
    tokens: { get: (id, now) => memory.tokens.get(id, now - 1) },
  }),
  'tokens.get/sleep-completes-at-its-deadline': readLike(({ record, settledNow }) => ({
    record: record.kind === 'SLEEP' ? { ...record, status: 'TIMED_OUT' } : record,
    settledNow,
  })),
  'tokens.get/settled-now-once': readLike(({ record }) => ({
    record,
    settledNow: record.status === 'TIMED_OUT',
  })),
  'tokens.get/writes-what-it-answers': timedOutInTheAnswerOnly,
  'tokens.settle/wins-before-the-deadline': settlingLike(({ now }) => ({ now: now + 1 })),
  'tokens.settle/late-completion-times-out': settlingLike(({ id, now }, memory) => {
    const timeoutAt = memory.tokens.get(id, -Infinity)?.record.timeoutAt
    return { now: now === timeoutAt ? now - 1 : now }
  }),
  'tokens.settle/settled-never-changes': settledLike(({ record }, { outputJson }) =>
    record.status === 'COMPLETED' ? { record: { ...record, outputJson } } : {},
  ),
  'tokens.settle/makes-all-waits-ready': settledLike(({ ready }) => ({ ready: ready.slice(0, 1) })),
  'tokens.settle/unknown': (memory) => ({
    tokens: {
      settle(request) {
        const settled = memory.tokens.settle(request)
        if (settled === undefined) throw new Error('no such token')
        return settled
      },
    },
  }),
  'tokens.settle/stale-fence': settlingLike(() => ({ fence: undefined })),
  'tokens.settle/stale-leaves-the-deadline': (memory) => ({
    tokens: {
      settle(request) {
        const settled = memory.tokens.settle(request)
        if (settled === 'stale') memory.tokens.get(request.id, request.now)
        return settled
      },
    },
  }),
  'tokens.release/waits-of-others-stay': (memory) => ({
    tokens: {
      release(waits) {
        const ownerOf = ({ runId, owner }: WaitRecord): string => memory.runs.get(runId)?.owner ?? owner
        memory.tokens.release(waits.map((wait) => ({ ...wait, owner: ownerOf(wait) })))
      },
    },
  }),
  'tokens.await/registers-an-open-token': (memory) => ({
    runs: { waits: (id) => [...memory.runs.waits(id)].reverse() },
  }),
  'tokens.await/settled-registers-nothing': waitsAreRegisteredForSettledTokens,
  'tokens.await/times-out-at-the-deadline': (memory) => ({
    tokens: { await: (request) => memory.tokens.await({ ...request, now: request.now - 1 }) },
  }),
  'tokens.await/stale-fence': awaitedLike((awaited) =>
    awaited.outcome === 'stale' ? { outcome: 'unknown' } : awaited,
  ),
  'tokens.await/unknown': awaitedLike((awaited) =>
    awaited.outcome === 'unknown' ? { outcome: 'stale' } : awaited,
  ),
  'tokens.await/twice-is-one-wait': everyAwaitIsAWait,
  'tokens.await/end-of-a-run': (memory) => ({
    tokens: {
      await: (request) =>
        request.tokenId.startsWith('run:') ? { outcome: 'unknown' } : memory.tokens.await(request),
    },
  }),
}
