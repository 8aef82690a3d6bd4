import type {
  ChunkRecord,
  RunRecord,
  RunStatus,
  TokenRecord,
  WaitRecord,
} from '../../src/contract/records.ts'
import type {
  Inserted,
  RunClaim,
  RunClaimed,
  RunFence,
  RunUpdated,
  Storage,
  TickResult,
  TokenAwaited,
  TokenSettled,
} from '../../src/contract/storage.ts'
import { memoryStorage } from '../../src/storage/memory/memory.ts'
import { namedStorage } from '../../src/testing/conformance/named-storage.ts'
import {
  manualToken as sampleToken,
  queuedRun as sampleRun,
} from '../../src/testing/conformance/sample-records.ts'

/** A storage that answers without promises. */
export type Synchronous<Store> = {
  readonly [Name in keyof Store]: Store[Name] extends
    ((...parameters: infer Parameters) => infer Answer) | undefined
    ? (...parameters: Parameters) => Awaited<Answer>
    : Synchronous<Store[Name]>
}

/** The memory storage never answers with a promise; the first test says so. */
export type SynchronousMemory = Synchronous<Omit<Storage, 'time' | 'endedBytes' | 'due'>>

export function openMemory(): SynchronousMemory {
  return memoryStorage() as unknown as SynchronousMemory
}

/** Its runs and manual tokens have short names. */
export function openNamed(): SynchronousMemory {
  return namedStorage(memoryStorage()) as unknown as SynchronousMemory
}

export function queuedRun(id: string, fields: Partial<RunRecord> = {}): RunRecord {
  return sampleRun(id, { createdAt: 0, updatedAt: 0, ...fields })
}

export function manualToken(id: string, fields: Partial<TokenRecord> = {}): TokenRecord {
  return sampleToken(id, { createdAt: 0, ...fields })
}

export function chunk(value: unknown): ChunkRecord {
  return { value, text: JSON.stringify(value), bytes: 10 }
}

export const BY = 'engine-a'
export const OTHER = 'engine-b'
export const HISTORY = { chunks: 100, bytes: 10_000 }
export const NEVER = 1_000_000

/** A memory storage with one engine, `BY`, that is alive; what a test does not say happens at instant 0. */
export class MemoryFixture {
  readonly storage: SynchronousMemory = openNamed()
  #claims = 0

  constructor() {
    this.tick(BY)
  }

  tick(
    owner: string,
    now = 0,
    fields: { leaseUntil?: number; endless?: boolean; limit?: number } = {},
  ): TickResult {
    return this.storage.tick({ owner, now, leaseUntil: NEVER, limit: 100, ...fields })
  }

  insert(
    id: string,
    fields: Partial<RunRecord> = {},
    now: number = fields.createdAt ?? 0,
  ): Inserted<RunRecord> {
    return accepted(this.storage.runs.insert({ record: queuedRun(id, fields), now, by: BY }))
  }

  insertToken(id: string, fields: Partial<TokenRecord> = {}, now = 0): Inserted<TokenRecord> {
    return accepted(this.storage.tokens.insert({ record: manualToken(id, fields), now, by: BY }))
  }

  claim(fields: Partial<RunClaim> = {}): RunClaimed {
    return this.storage.runs.claim({
      by: BY,
      now: 0,
      number: (this.#claims += 1),
      taskIds: ['task'],
      limit: 10,
      queueLimits: new Map(),
      maxInterruptions: 10,
      ...fields,
    })
  }

  /** A run that executes. */
  start(id: string, fields: Partial<RunRecord> = {}): RunRecord {
    this.insert(id, fields)
    const record = this.claim().runs.find((run) => run.id === id)
    if (record === undefined) throw new Error(`"${id}" was not claimed`)
    return record
  }

  /** A run that is parked on a token of its own. */
  parkOn(tokenId: string, runId: string): RunRecord {
    const run = this.start(runId)
    this.insertToken(tokenId)
    this.wait(run, tokenId)
    const parked = this.storage.runs.park(fence(run))
    if (parked === undefined) throw new Error(`"${runId}" was not parked`)
    return parked
  }

  wait(run: RunRecord, tokenId: string, now = 0): TokenAwaited {
    return this.storage.tokens.await({ tokenId, runId: run.id, epoch: run.epoch, by: run.owner ?? BY, now })
  }

  settle(id: string, now = 0, by: string = BY): TokenSettled | undefined {
    return accepted(this.storage.tokens.settle({ id, outputJson: '1', by, now }))
  }

  finish(run: Pick<RunRecord, 'id'>, status: RunStatus = 'COMPLETED', now = 0): RunUpdated | undefined {
    const live = ['EXECUTING', 'WAITING', 'QUEUED', 'DELAYED'] as const
    return this.storage.runs.update({
      id: run.id,
      expected: { status: live },
      change: { status },
      by: BY,
      now,
    })
  }
}

/** What is answered to a write without a fence. */
function accepted<Answer>(answer: Answer | 'stale'): Answer {
  if (answer === 'stale') throw new Error('refused without a fence')
  return answer
}

/** The attempt of a run, and the park that it is in, or else its next one. */
export function fence({ id, epoch, status, parks = 0, owner = BY }: RunRecord, now = 0): RunFence {
  return { id, epoch, parks: status === 'WAITING' ? parks : parks + 1, by: owner, now }
}

export function waitOf(tokenId: string, runId: string, owner: string = BY): WaitRecord {
  return { tokenId, runId, owner }
}

export function idsOf(records: readonly { readonly id: string }[]): string[] {
  return records.map((record) => record.id)
}
