import type { RunChange, RunRecord, TokenRecord, WaitRecord } from '../../contract/records.ts'
import { LIVE_STATUSES } from '../../contract/run-states.ts'
import type {
  AttemptFence,
  Awaitable,
  Inserted,
  RunClaim,
  RunClaimed,
  RunUpdated,
  Storage,
  TickRequest,
  TickResult,
  TokenAwaited,
  TokenInserted,
  TokenSettled,
} from '../../contract/storage.ts'
import { manualToken, queuedRun } from './sample-records.ts'
import { Mismatch } from './sameness.ts'

/** The engine that makes the calls of a law unless it says otherwise; it has a lease for a million milliseconds. */
export const A = 'engine-a'
/** Another one, that is there once a law lets it tick. */
export const B = 'engine-b'

/** A storage to be judged; when it is no longer needed it is disposed of, if it can be. */
export type TestedStorage = Storage & Partial<AsyncDisposable>

/** Opens a storage that is empty. */
export type OpenStorage = () => Awaitable<TestedStorage>

interface SettleOptions {
  readonly by?: string
  readonly outputJson?: string
  readonly fence?: AttemptFence
}

const LEASE_MS = 1_000_000

/**
 * A storage with the few words laws are written in. Instants that are parameters are milliseconds since `origin`, the
 * instant at which the law begins; those in records are absolute, made by `at`.
 */
export class Subject {
  storage: TestedStorage
  readonly origin: number
  readonly #owners = new Set<string>()
  #claims = 0

  constructor(storage: TestedStorage, origin: number) {
    this.storage = storage
    this.origin = origin
  }

  /** Opens the storage, and lets engine {@link A} live. */
  static async open(open: OpenStorage, origin: number): Promise<Subject> {
    const subject = new Subject(await open(), origin)
    await subject.storage.open()
    await subject.tick(A)
    return subject
  }

  /** Does something and closes the storage; when both fail, the first failure is the one to know. */
  async use<Result>(act: () => Promise<Result>): Promise<Result> {
    let result: Result
    try {
      result = await act()
    } catch (error) {
      await this.#close().catch(() => undefined)
      throw error
    }
    await this.#close()
    return result
  }

  at(ms: number): number {
    return this.origin + ms
  }

  async tick(owner: string = A, now = 0, fields: Partial<TickRequest> = {}): Promise<TickResult> {
    this.#owners.add(owner)
    const request = { owner, now: this.at(now), leaseUntil: this.at(LEASE_MS), limit: 1_000, ...fields }
    return this.storage.tick(request)
  }

  async insertRun(
    id: string,
    fields: Partial<RunRecord> = {},
    now = 0,
  ): Promise<Inserted<RunRecord> | 'stale'> {
    const record = queuedRun(id, { createdAt: this.at(now), ...fields })
    return this.storage.runs.insert({ record, now: this.at(now), by: A })
  }

  async insertToken(
    id: string,
    fields: Partial<TokenRecord> = {},
    now = 0,
  ): Promise<TokenInserted | 'stale'> {
    const record = manualToken(id, { createdAt: this.at(now), ...fields })
    return this.storage.tokens.insert({ record, now: this.at(now), by: A })
  }

  /** A claim with the next number; `now` is as everywhere here, the rest as in the contract. */
  async claim(fields: Partial<RunClaim> = {}): Promise<RunClaimed> {
    return this.storage.runs.claim({
      by: A,
      number: (this.#claims += 1),
      taskIds: ['task'],
      limit: 10,
      queueLimits: new Map(),
      maxInterruptions: 10,
      ...fields,
      now: this.at(fields.now ?? 0),
    })
  }

  /** A run that executes. */
  async start(id: string, fields: Partial<RunRecord> = {}, by: string = A): Promise<RunRecord> {
    await this.insertRun(id, fields)
    const claimed = await this.claim({ by })
    const run = claimed.runs.find((one) => one.id === id)
    if (run === undefined)
      throw new Mismatch(`claim of run "${id}"`, { expected: 'the run', seen: claimed.runs })
    return run
  }

  /** A run that is parked, with a wait for a token of its own. */
  async startParked(id: string, tokenId: string, by: string = A): Promise<RunRecord> {
    const run = await this.start(id, {}, by)
    await this.insertToken(tokenId)
    await this.wait(run, tokenId)
    const parked = await this.storage.runs.park(this.fenceOf(run))
    if (parked === undefined)
      throw new Mismatch(`park of run "${id}"`, { expected: 'the run', seen: undefined })
    return parked
  }

  /** Who the run's attempt says it is. */
  fenceOf(
    { id, epoch, owner = A }: RunRecord,
    now = 0,
  ): { readonly id: string; readonly epoch: number; readonly by: string; readonly now: number } {
    return { id, epoch, by: owner, now: this.at(now) }
  }

  async wait(run: RunRecord, tokenId: string, now = 0): Promise<TokenAwaited> {
    const { id, ...fence } = this.fenceOf(run, now)
    return this.storage.tokens.await({ tokenId, runId: id, ...fence })
  }

  async settle(
    id: string,
    now = 0,
    { by = A, outputJson = '1', fence }: SettleOptions = {},
  ): Promise<TokenSettled | 'stale' | undefined> {
    return this.storage.tokens.settle({ id, outputJson, fence, by, now: this.at(now) })
  }

  /** Ends a run in whatever state, or changes it. */
  async update(run: { readonly id: string }, change: RunChange, now = 0): Promise<RunUpdated | undefined> {
    return this.storage.runs.update({
      id: run.id,
      expected: {
        status: change.status === undefined ? ['EXECUTING', 'WAITING', 'CANCELED'] : LIVE_STATUSES,
      },
      change,
      by: A,
      now: this.at(now),
    })
  }

  /** All owners leave, so that the storage can give back what it holds. */
  async #close(): Promise<void> {
    for (const owner of this.#owners) await this.storage.leave({ owner, now: this.at(LEASE_MS) })
    await this.storage[Symbol.asyncDispose]?.()
  }
}

/** Ids of records. */
export function idsOf(records: readonly { readonly id: string }[]): string[] {
  return records.map(({ id }) => id)
}

/** Waits as `token run owner`, in order. */
export function namesOf(waits: readonly WaitRecord[]): string[] {
  return waits.map(({ tokenId, runId, owner }) => `${tokenId} ${runId} ${owner}`).sort()
}
