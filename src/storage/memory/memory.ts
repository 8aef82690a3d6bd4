import type { Hint, NextDue, SettingStore, Storage, TickRequest, TickResult } from '../../contract/storage.ts'
import { itemsOf } from '../../primitives/few.ts'
import { memoryChunks } from './chunks.ts'
import { memoryCounts } from './counts.ts'
import { pruneMemory } from './prune.ts'
import { memoryQueues } from './queues.ts'
import { memoryRuns } from './runs.ts'
import { memorySchedules } from './schedules.ts'
import { expireLeases, memoryState, type MemoryState, telling } from './state.ts'
import { memoryTokens } from './tokens.ts'
import { draftOf } from '../run-draft.ts'

/** Ended runs and settled tokens are kept for an hour: memory is dear. */
const RETENTION = { maxAgeMs: 3_600_000, maxCount: 100_000, maxBytes: 268_435_456 }

/**
 * A storage in the memory of this process: as durable as the process is, and shared by the engines that are given the
 * same one. Every method answers at once, without a promise.
 */
export function memoryStorage(): Storage {
  const state = memoryState()
  return {
    runs: memoryRuns(state),
    tokens: memoryTokens(state),
    chunks: memoryChunks(state),
    settings: memorySettings(),
    counts: memoryCounts(state),
    leases: () => state.leases.all,
    due: (limit) => due(state, limit),
    timesOut: true,
    queues: memoryQueues(state),
    rates: true,
    limits: true,
    debounces: true,
    schedules: memorySchedules(state),
    retention: RETENTION,
    boundedHistory: true,
    endedBytes: () => state.ended.bytes,
    open() {
      // There is nothing to open.
    },
    tick: telling(state, tick),
    subscribe: (owner: string, listener: (hint: Hint) => void) => state.hints.subscribe(owner, listener),
    leave({ owner, now }) {
      leave(state, { by: owner, now })
      state.hints.flush()
    },
    prune: (request) => pruneMemory(state, request),
  }
}

function memorySettings(): SettingStore {
  const settings = new Map<string, string>()
  return {
    getOrInsert(name, candidate) {
      const stored = settings.get(name)
      if (stored !== undefined) return stored
      settings.set(name, candidate)
      return candidate
    },
  }
}

function tick(state: MemoryState, request: TickRequest): TickResult {
  const { owner, leaseUntil, now, limit } = request
  const { leases, tokens, runs, lanes, hints } = state
  const act = { by: owner, now }
  expireLeases(state, act)
  const lease = leases.renew(request)
  if (lease === undefined) return { alive: false, ready: [], settled: [], expired: [], claimable: false }
  for (const other of leases.endEndless(owner, leaseUntil)) hints.waits(other.owner, owner)

  const settled = tokens.settleDue(act, limit)
  const expired = runs.sweep(act, limit - settled.length)
  const ready = itemsOf(lease.ready).flatMap((wait) => wait.ready ?? [])
  return {
    alive: true,
    ready,
    settled,
    expired,
    claimable: lanes.hasOpenLine,
    nextDue: nextDue(state),
    nextLease: leases.nextDue(owner),
    leaseUntil: lease.until === Infinity ? undefined : lease.until,
  }
}

function nextDue({ tokens, schedule }: MemoryState): NextDue | undefined {
  const token = tokens.nextDue()
  const run = schedule.nextDue()
  return token === undefined || (run !== undefined && run.at < token.at) ? run : token
}

function due({ tokens, schedule }: MemoryState, limit: number): readonly NextDue[] {
  const both = [...tokens.due(limit), ...schedule.due(limit)]
  return both.sort((one, other) => one.at - other.at).slice(0, limit)
}

function leave({ leases, runs }: MemoryState, act: { readonly by: string; readonly now: number }): void {
  const lease = leases.end(act.by)
  if (lease === undefined) return
  const held = runs.heldBy(lease)
  for (const run of held) {
    runs.hold(run, undefined)
    run.record = Object.assign(draftOf(run.record, act.now), { owner: undefined })
  }
  runs.abandon(held, act)
}
