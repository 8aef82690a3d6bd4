import type { RunChange, RunRecord, TokenRecord, WaitRecord } from '../../contract/records.ts'
import { LIVE_STATUSES } from '../../contract/run-states.ts'
import type {
  AttemptFence,
  Awaitable,
  Inserted,
  RunClaim,
  RunClaimed,
  RunFence,
  RunToResume,
  RunUpdated,
  Storage,
  TickRequest,
  TickResult,
  TokenAwaited,
  TokenInserted,
  TokenSettled,
} from '../../contract/storage.ts'
import { RecordNames, namedStorage } from './named-storage.ts'
import { manualToken, queuedRun } from './sample-records.ts'
import { Mismatch } from './sameness.ts'

/** The engine that makes the calls of a law by default. Its lease lasts a million milliseconds. */
export const A = 'engine-a'
/** A second engine. It lives once a law lets it tick. */
export const B = 'engine-b'

/** A tested storage. It is disposed of after its law, if it supports disposal. */
export type TestedStorage = Storage & Partial<AsyncDisposable>

/** Opens an empty storage. */
export type OpenStorage = () => Awaitable<TestedStorage>

interface SettleOptions {
  readonly by?: string
  readonly outputJson?: string
  readonly isTimeOut?: boolean
  readonly question?: string | undefined
  readonly answeredJson?: string
  readonly fence?: AttemptFence
  readonly resume?: RunToResume
}

const LEASE_MS = 1_000_000

/**
 * A storage with helper methods for laws. A law gives runs and tokens short names, and gets them back. Instants in parameters are milliseconds since `origin`, the instant at which
 * the law begins. Instants in records are absolute; `at` makes them.
 */
export class Subject {
  readonly origin: number
  readonly #names = new RecordNames()
  readonly #owners = new Set<string>()
  #tested: TestedStorage
  #storage: Storage
  #claims = 0

  constructor(storage: TestedStorage, origin: number) {
    this.#tested = storage
    this.#storage = namedStorage(storage, this.#names)
    this.origin = origin
  }

  get storage(): Storage {
    return this.#storage
  }

  /** Goes on with another storage of the same records. */
  async replace(open: (tested: TestedStorage) => Awaitable<TestedStorage>): Promise<void> {
    this.#tested = await open(this.#tested)
    this.#storage = namedStorage(this.#tested, this.#names)
    await this.#storage.open()
  }

  /** Opens the storage, and makes engine {@link A} live. */
  static async open(open: OpenStorage, origin: number): Promise<Subject> {
    const subject = new Subject(await open(), origin)
    await subject.tick(A)
    return subject
  }

  /** Runs `act`, then closes the storage. If both fail, the first failure is thrown. */
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

  /** An engine opens the storage before its first tick. */
  async tick(owner: string = A, now = 0, fields: Partial<TickRequest> = {}): Promise<TickResult> {
    if (!this.#owners.has(owner)) await this.storage.open()
    this.#owners.add(owner)
    const request = { owner, now: this.at(now), leaseUntil: this.at(LEASE_MS), limit: 1_000, ...fields }
    return this.storage.tick(request)
  }

  /** An engine leaves, and another one opens the storage in its place: it stays open for the rest of the law. */
  async leave(owner: string, now: number): Promise<void> {
    await this.storage.leave({ owner, now: this.at(now) })
    await this.storage.open()
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

  /** Claims with the next number. `now` is relative to `origin`; the other fields are those of the contract. */
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

  /** A parked run that waits for a token of its own. */
  async startParked(id: string, tokenId: string, by: string = A): Promise<RunRecord> {
    const run = await this.start(id, {}, by)
    await this.insertToken(tokenId)
    await this.wait(run, tokenId)
    const parked = await this.storage.runs.park(this.fenceOf(run))
    if (parked === undefined)
      throw new Mismatch(`park of run "${id}"`, { expected: 'the run', seen: undefined })
    return parked
  }

  /** The attempt of a run, and the park that it is in, or else its next one. */
  fenceOf({ id, epoch, status, parks = 0, owner = A }: RunRecord, now = 0): RunFence {
    return { id, epoch, parks: status === 'WAITING' ? parks : parks + 1, by: owner, now: this.at(now) }
  }

  async wait(run: RunRecord, tokenId: string, now = 0): Promise<TokenAwaited> {
    const { id, epoch, by, now: at } = this.fenceOf(run, now)
    return this.storage.tokens.await({ tokenId, runId: id, epoch, by, now: at })
  }

  async settle(
    id: string,
    now = 0,
    { by = A, isTimeOut, outputJson = isTimeOut === true ? undefined : '1', ...rest }: SettleOptions = {},
  ): Promise<TokenSettled | 'stale' | undefined> {
    const request = { id, outputJson, ...rest, by, now: this.at(now) }
    return this.storage.tokens.settle(isTimeOut === undefined ? request : { ...request, isTimeOut })
  }

  /** Ends a run, or changes it, in any state. */
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

  /** Makes all owners leave, so that the storage can release its resources. */
  async #close(): Promise<void> {
    for (const owner of this.#owners) await this.storage.leave({ owner, now: this.at(LEASE_MS) })
    await this.#tested[Symbol.asyncDispose]?.()
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
