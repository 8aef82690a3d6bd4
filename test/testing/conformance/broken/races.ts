import type { RunClaimed } from '../../../../src/contract/storage.ts'
import { type Break, type BrokenStorage, tickLike } from './broken-storage.ts'
import { updatedLike } from './runs.ts'

/** Storages that are right as long as nothing else happens: clocks that differ, calls at the same time, crashes. */

const repeatedSettlesThrow: Break = (memory) => {
  const won = new Set<string>()
  return {
    tokens: {
      settle(request) {
        const name = JSON.stringify(request)
        if (won.has(name)) throw new Error('unique constraint')
        const settled = memory.tokens.settle(request)
        if (typeof settled === 'object' && settled.won) won.add(name)
        return settled
      },
    },
  }
}

const repeatedEndsThrow: Break = (memory) => {
  const applied = new Set<string>()
  return {
    runs: {
      update(request) {
        const name = JSON.stringify(request)
        if (applied.has(name)) throw new Error('unique constraint')
        const updated = memory.runs.update(request)
        if (updated !== undefined && request.change.status === 'COMPLETED') applied.add(name)
        return updated
      },
    },
  }
}

const slowClocksReviveLeases: Break = (memory) => {
  const ends = new Map<string, number>()
  return {
    tick(request) {
      const { owner, now, leaseUntil } = request
      const ticked = memory.tick(request)
      if (!ticked.alive && now < (ends.get(owner) ?? 0)) {
        memory.leave({ owner, now })
        return memory.tick(request)
      }
      if (ticked.alive) ends.set(owner, leaseUntil)
      return ticked
    },
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const brokenOverlaps: Readonly<Record<string, Break>> = {
  // What is expected is looked at a turn before it is written.
  'overlap/of-a-run-that-executes': (memory) => ({
    runs: {
      async update(request) {
        const run = memory.runs.get(request.id)
        const { status, epoch } = request.expected
        if (run === undefined || !status.includes(run.status)) return undefined
        if (epoch !== undefined && epoch !== run.epoch) return undefined
        await turn()
        const now = memory.runs.get(request.id)?.status ?? run.status
        return memory.runs.update({ ...request, expected: { status: [now] } })
      },
    },
  }),
  // A run that waited when it was asked goes on, whatever came in between.
  'overlap/of-a-run-that-waits': (memory) => ({
    runs: {
      async resume(request) {
        const before = memory.runs.get(request.id)
        await turn()
        const answer = memory.runs.resume(request)
        const couldResume =
          before?.status === 'WAITING' && before.epoch === request.epoch && before.parks === request.parks
        return answer.outcome === 'stale' && couldResume && before.owner === request.by
          ? { outcome: 'resumed', record: before }
          : answer
      },
    },
  }),
  // A run that was in line is handed out, canceled or not.
  'overlap/of-runs-in-line': (memory) => ({
    runs: {
      async claim(request) {
        const inLine = { status: ['QUEUED'], taskIds: request.taskIds } as const
        const before = memory.runs.list(inLine, { limit: 9 }).records
        await turn()
        const claimed = memory.runs.claim(request)
        const canceled = before.filter(({ id }) => memory.runs.get(id)?.status === 'CANCELED')
        return { ...claimed, runs: [...claimed.runs, ...canceled] }
      },
    },
  }),
  // Tokens are read a turn after the waits for them.
  'overlap/of-what-is-read': (memory) => ({
    runs: {
      async waits(id) {
        const waits = memory.runs.waits(id)
        await turn()
        return waits.flatMap((token) => memory.tokens.get(token.id, 0)?.record ?? [])
      },
    },
  }),
  // A run that was parked is handed out, canceled or not.
  'overlap/of-an-engine': (memory) => ({
    runs: {
      async claim(request) {
        const isParked = { status: ['WAITING'], taskIds: request.taskIds } as const
        const before = memory.runs.list(isParked, { limit: 9 }).records
        await turn()
        const claimed = memory.runs.claim(request)
        const canceled = before.filter(({ id }) => memory.runs.get(id)?.status === 'CANCELED')
        return { ...claimed, runs: [...claimed.runs, ...canceled] }
      },
    },
  }),
  // A run that is taken over is read a turn later.
  'overlap/of-runs-that-are-taken-over': (memory) => ({
    runs: {
      async claim(request) {
        const claimed = memory.runs.claim(request)
        if (claimed.runs.every(({ attempt }) => attempt === 1)) return claimed
        await turn()
        return { ...claimed, runs: claimed.runs.map((run) => memory.runs.get(run.id) ?? run) }
      },
    },
  }),
  // Slots are counted a turn before one is taken.
  'overlap/of-a-full-queue': (memory) => ({
    runs: {
      async resume({ queueLimit, ...fence }) {
        const queue = memory.runs.get(fence.id)?.queue
        const { records } = memory.runs.list({ status: ['EXECUTING'] }, { limit: 1_000 })
        const taken = records.filter((run) => run.slot && run.queue === queue).length
        await turn()
        return memory.runs.resume(taken < (queueLimit ?? Infinity) ? fence : { ...fence, queueLimit })
      },
    },
  }),
  // That a run was refused is noted a turn later, also if it goes on by then. It then holds back what is in line.
  'overlap/of-a-slot-that-is-freed': (memory) => {
    const refused = new Set<string>()
    const goesOn = (id: string): boolean => memory.runs.get(id)?.status === 'EXECUTING'
    return {
      runs: {
        async resume(request) {
          const answer = memory.runs.resume(request)
          if (answer.outcome !== 'full') return answer
          await turn()
          if (goesOn(request.id)) refused.add(request.id)
          return answer
        },
        claim: (request) =>
          memory.runs.claim(Array.from(refused).some(goesOn) ? { ...request, limit: 0 } : request),
      },
    }
  },
  'overlap/of-inserts': () => {
    const settings = new Map<string, string>()
    return {
      settings: {
        async getOrInsert(name, candidate) {
          const stored = settings.get(name)
          await turn()
          if (stored === undefined) settings.set(name, candidate)
          return stored ?? candidate
        },
      },
    }
  },
  // The question is read first, and the token changed a turn later.
  'overlap/of-a-question': (memory) => ({
    tokens: {
      async change(request) {
        const before = memory.tokens.get(request.id, -Infinity)?.record
        await turn()
        const question = memory.tokens.get(request.id, -Infinity)?.record.questionJson
        const isAsked = before?.questionJson === request.question
        return memory.tokens.change(isAsked ? { ...request, question } : request)
      },
    },
  }),
  // A token is settled, and read a turn later.
  'overlap/of-what-is-pruned': (memory) => ({
    tokens: {
      async get(id, now, extras) {
        const settledNow = memory.tokens.get(id, now)?.settledNow ?? false
        await turn()
        const read = memory.tokens.get(id, now, extras)
        return read && { ...read, settledNow }
      },
    },
  }),
}

export const brokenSkews: Readonly<Record<string, Break>> = {
  'skew/updated-at-never-decreases': updatedLike(({ record }, { now }) => ({
    record: { ...record, updatedAt: now },
  })),
  'skew/timed-out-for-everybody': (memory) => ({
    tokens: {
      settle(request) {
        const settled = memory.tokens.settle(request)
        if (settled === undefined || settled === 'stale') return settled
        const { status, timeoutAt = 0 } = settled.record
        if (status !== 'TIMED_OUT' || request.now >= timeoutAt) return settled
        return { ...settled, won: true, record: { ...settled.record, status: 'COMPLETED' } }
      },
    },
  }),
  'skew/completed-for-everybody': (memory) => ({
    tokens: {
      get(id, now) {
        const read = memory.tokens.get(id, now)
        const { timeoutAt = Infinity, kind } = read?.record ?? {}
        if (read === undefined || kind !== 'MANUAL' || now < timeoutAt) return read
        return { ...read, record: { ...read.record, status: 'TIMED_OUT' } }
      },
    },
  }),
  'skew/lost-leases-stay-lost': slowClocksReviveLeases,
  'unknown/settle-again': repeatedSettlesThrow,
  'unknown/finish-again': repeatedEndsThrow,
  'unknown/insert-again': (memory) => ({
    tokens: {
      insert(request) {
        try {
          return memory.tokens.insert(request)
        } catch {
          return { record: request.record, isCached: false }
        }
      },
    },
  }),
}

const looksBeforeItWrites: Break = (memory) => ({
  tokens: {
    async settle(request) {
      const before = memory.tokens.get(request.id, -Infinity)?.record
      await Promise.resolve()
      const settled = memory.tokens.settle(request)
      if (settled === undefined || settled === 'stale' || settled.won) return settled
      if (before?.status !== 'WAITING' || settled.record.status !== 'COMPLETED') return settled
      return { ...settled, won: true, settledNow: true }
    },
  },
})

const keysAreCheckedFirst: Break = (memory) => {
  const checking = new Set<string>()
  return {
    tokens: {
      async insert(request) {
        const { key } = request.record
        if (key === undefined) return memory.tokens.insert(request)
        if (checking.has(key.value))
          return memory.tokens.insert({ ...request, record: { ...request.record, key: undefined } })
        checking.add(key.value)
        await Promise.resolve()
        checking.delete(key.value)
        return memory.tokens.insert(request)
      },
    },
  }
}

const claimsAreReadTogether: Break = (memory) => {
  let reading: Promise<RunClaimed> | undefined
  return {
    runs: {
      async claim(claim) {
        if (reading !== undefined) return reading
        reading = Promise.resolve().then(() => memory.runs.claim(claim))
        try {
          return await reading
        } finally {
          reading = undefined
        }
      },
    },
  }
}

const looksBeforeItRegisters: Break = (memory) => ({
  tokens: {
    async await(request) {
      const before = memory.tokens.get(request.tokenId, -Infinity)?.record
      await Promise.resolve()
      const awaited = memory.tokens.await(request)
      const isMissed = awaited.outcome === 'settled' && !awaited.settledNow && before?.status === 'WAITING'
      return isMissed ? { outcome: 'registered', token: before } : awaited
    },
  },
})

export const brokenHistories: Readonly<Record<string, Break>> = {
  'history/tokens-are-written-once': looksBeforeItWrites,
  'history/keys-have-one-holder': keysAreCheckedFirst,
  'history/runs-have-one-claimer': claimsAreReadTogether,
  'history/no-wake-up-is-lost': looksBeforeItRegisters,
  'model/answers-like-memory': (memory) => ({
    tokens: {
      await(request) {
        const token = memory.tokens.get(request.tokenId, -Infinity)?.record
        const attempt = memory.runs.get(request.runId)?.attempt ?? 0
        const isOpen = token?.status === 'WAITING' && (token.timeoutAt ?? Infinity) > request.now
        const isHeld = memory.runs.get(request.runId)?.epoch === request.epoch
        if (attempt > 1 && isOpen && isHeld) return { outcome: 'registered', token }
        return memory.tokens.await(request)
      },
    },
  }),
}

/** Writes in two steps, between which it may die; the second makes the waits ready. */
function inTwoSteps(writes: 'settle' | 'update'): BrokenStorage {
  let isDead = false
  const half = new Set<string>()
  const second = async <Answer>(id: string, answer: Answer): Promise<Answer> => {
    half.add(id)
    await Promise.resolve()
    if (!isDead) half.delete(id)
    return answer
  }
  return {
    breaks(memory) {
      isDead = false
      half.clear()
      const ticks = tickLike(({ ready }) => ({ ready: ready.filter(({ tokenId }) => !half.has(tokenId)) }))
      const { settle } = memory.tokens
      const { update } = memory.runs
      return {
        ...ticks(memory),
        ...(writes === 'settle' && { tokens: { settle: (request) => second(request.id, settle(request)) } }),
        ...(writes === 'update' && {
          runs: { update: (request) => second(`run:${request.id}`, update(request)) },
        }),
      }
    },
    crash(storage) {
      isDead = true
      return storage
    },
  }
}

export const brokenCrashes: Readonly<Record<string, BrokenStorage>> = {
  'crash/acknowledged-is-there': {
    breaks: () => ({}),
    crash: (storage) => ({ ...storage, settings: { getOrInsert: (_name, candidate) => candidate } }),
  },
  'crash/leases-are-kept': {
    breaks: () => ({}),
    crash(storage) {
      void storage.leave({ owner: 'engine-b', now: 0 })
      return storage
    },
  },
  'crash/claims-are-mustered': {
    breaks: () => ({}),
    crash: (storage) => ({
      ...storage,
      runs: {
        ...storage.runs,
        claim: (claim) => (claim.limit === 0 ? { runs: [], ended: [] } : storage.runs.claim(claim)),
      },
    }),
  },
  'crash/settles-are-whole': inTwoSteps('settle'),
  'crash/ends-of-runs-are-whole': inTwoSteps('update'),
}
