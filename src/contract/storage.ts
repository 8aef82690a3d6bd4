import type {
  ChunkRecord,
  RunChange,
  RunRecord,
  RunStatus,
  SegmentEnd,
  StreamRecord,
  TokenKind,
  TokenRecord,
  TokenStatus,
  WaitRecord,
} from './records.ts'

/** A synchronous adapter answers without a promise. */
export type Awaitable<T> = T | Promise<T>

/**
 * Where records live. Every method is one atomic operation; none reads a clock: `now` is an argument. Every race is one
 * compare-and-set here, and whoever loses is told so. Instants within one record never decrease, also when a wall clock was
 * set back and `now` with it: those that a storage writes (`startedAt`, `finishedAt`, `completedAt`, `updatedAt`) are no
 * earlier than those before them, while what is due, and what wins, is asked of `now` alone. A method resolves after its effect is as durable as the adapter
 * documents. `by` names the engine that calls, so that hints go to the others only.
 *
 * An adapter acquires what it needs in `open` and gives it back when the last owner has left.
 */
export interface Storage {
  readonly runs: RunStore
  readonly tokens: TokenStore
  readonly chunks: ChunkStore
  readonly settings: SettingStore
  /** How long ended records are kept here unless the engine is told otherwise. Default: 30 days. */
  readonly retention?: { readonly maxAgeMs: number; readonly maxCount?: number }
  /** Whether a call may be part of a transaction of its caller's: `transaction` of an insert or a settle. Default: no. */
  readonly joinsTransactions?: boolean
  /** Opens and migrates. Called once by every engine before anything else; rejects with what is wrong. */
  open(): Awaitable<void>
  /** What time it is at the storage, where processes of several machines meet. None where all have one clock. */
  readonly time?: () => Awaitable<number>
  /** Renews the caller's lease, settles what is past its deadline, hands over what became ready. */
  tick(request: TickRequest): Awaitable<TickResult>
  /** Hints that something changed, made by others than `owner`. Latency only: the next `tick` or read finds it too. */
  subscribe(owner: string, listener: (hint: Hint) => void): Unsubscribe
  /** A graceful end: the owner's lease is gone and its runs are free to be claimed, without counting as interrupted. */
  leave(request: { readonly owner: string; readonly now: number }): Awaitable<void>
  /** Drops what nobody can need any more, in one small batch; answers how many records went. */
  prune(request: PruneRequest): Awaitable<number>
}

export type Unsubscribe = () => void

export interface RunStore {
  /**
   * Stores a new run. An unexpired idempotency key answers its holder instead (`isCached`); an expired one is taken
   * over and its old record stays. Of two at once exactly one is not cached. A fence that is no longer right: `stale`,
   * whatever there is under the key. An id that is taken is an error.
   */
  insert(request: RunInsert): Awaitable<Inserted<RunRecord> | 'stale'>
  get(id: string): Awaitable<RunRecord | undefined>
  /** Newest first (id descending). */
  list(filter: RunFilter, page: PageRequest): Awaitable<Page<RunRecord>>
  /** The tokens a run waits for and that are not settled, in order of registration. */
  waits(id: string): Awaitable<readonly TokenRecord[]>
  /**
   * Applies only while status and epoch are as expected, else nothing (`undefined`). Reaching a final status settles
   * the run's own token (the waits for it become ready and are answered), ends its open stream segments as
   * `interrupted`, and drops the run's waits, in the same step.
   */
  update(request: RunUpdate): Awaitable<RunUpdated | undefined>
  /**
   * Hands runs to an owner with a live lease, each to exactly one, within the limits of their queues, oldest first:
   * due `DELAYED` and `QUEUED` runs (`attempt` and `policyAttempt` + 1); runs without a living owner that were
   * `EXECUTING` (`attempt` + 1; `interruptions` + 1 unless their owner left gracefully), or `WAITING` and either
   * returned or with a wait that is settled or due (`attempt` + 1). Claimed runs are `EXECUTING`, hold a slot, have the
   * caller as owner and a raised epoch; their open stream segments end as `interrupted` and their old waits are dropped.
   *
   * Instead of being claimed, a run becomes `EXPIRED` past its `expiresAt` before its first start, `CRASHED` past
   * `maxInterruptions`, and `COMPLETED` when it had already returned: these are answered in `ended`. The last two have a
   * raised epoch, too: an attempt that was only slow does not take their end for its own.
   *
   * Each owner numbers its claims upwards. The number of its last claim again is a repetition, because the answer was
   * lost: nothing is claimed, and `runs` are those the last claim handed out that are still `EXECUTING` as it left them,
   * whatever `limit` is now. A lower number is a claim that came too late: it changes and answers nothing. A claim that
   * was refused for want of a live lease does not count.
   */
  claim(request: RunClaim): Awaitable<RunClaimed>
  /** `EXECUTING` becomes `WAITING`, the slot is given back, interruptions are forgotten. Not as expected: `undefined`. */
  park(request: RunFence): Awaitable<RunRecord | undefined>
  /**
   * `WAITING` becomes `EXECUTING` and takes a slot of its queue, if there is one: else `full`, and until the run got
   * its slot no queued run of that queue is claimed before it. Not as expected: `stale`.
   */
  resume(request: RunResume): Awaitable<RunResumed>
}

/**
 * Which attempt writes. It is right while the run is `EXECUTING` or `WAITING` under this epoch and its owner is the `by`
 * of the request. That is looked at in the same step as the write; when it is not right, nothing is written and nothing
 * of what is stored is answered. Calls from outside of a run have none, and are never stale.
 */
export interface AttemptFence {
  readonly runId: string
  readonly epoch: number
}

export interface RunInsert {
  readonly record: RunRecord
  /** The attempt that triggers it, be it as its child or not. */
  readonly fence?: AttemptFence | undefined
  /**
   * A transaction of the caller's that this becomes part of, whatever the storage takes as one: it takes effect when that
   * is committed, or not at all. Nobody is hinted before; then everybody is, the caller included, which was told nothing
   * but what will be. An error leaves the transaction to the caller.
   */
  readonly transaction?: object | undefined
  readonly now: number
  readonly by: string
}

export interface Inserted<Record> {
  readonly record: Record
  readonly isCached: boolean
}

export interface RunFence {
  readonly id: string
  readonly epoch: number
  readonly by: string
  readonly now: number
}

export interface RunResume extends RunFence {
  readonly queueLimit?: number | undefined
  /** A hint has named the run: what it waits for and is settled is to be answered. */
  readonly isHinted?: boolean
}

export interface RunUpdate {
  readonly id: string
  readonly expected: { readonly status: readonly RunStatus[]; readonly epoch?: number | undefined }
  readonly change: RunChange
  readonly by: string
  readonly now: number
}

export interface RunUpdated {
  readonly record: RunRecord
  /** Waits of other runs for this one that became ready. */
  readonly ready: readonly WaitRecord[]
}

export interface RunClaim {
  readonly by: string
  readonly now: number
  /** From 1: higher than that of the owner's claim before, or the same to repeat that one. */
  readonly number: number
  readonly taskIds: readonly string[]
  readonly limit: number
  /** Limits by queue name; each counts per concurrency key. A queue that is not named has none. */
  readonly queueLimits: ReadonlyMap<string, number>
  readonly maxInterruptions: number
}

export interface RunClaimed {
  readonly runs: readonly RunRecord[]
  readonly ended: readonly RunUpdated[]
}

export type RunResumed =
  | {
      readonly outcome: 'resumed'
      readonly record: RunRecord
      /** If `isHinted`: the settled tokens that it waits for. Without them a tick tells what is ready. */
      readonly tokens?: readonly TokenRecord[] | undefined
    }
  | { readonly outcome: 'full' }
  | { readonly outcome: 'stale' }

export interface RunFilter {
  readonly status?: readonly RunStatus[] | undefined
  readonly taskIds?: readonly string[] | undefined
  /** None of these tasks. */
  readonly notTaskIds?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
}

export interface TokenStore {
  /**
   * As for runs. To answer the holder of a key is a read: past its deadline it is settled in the same step, before it is
   * answered. A new token that is inserted past its deadline is settled by the next read or tick like any other.
   */
  insert(request: TokenInsert): Awaitable<TokenInserted | 'stale'>
  /** A token past its deadline is settled by this read, in the same step, before it is answered. */
  get(id: string, now: number): Awaitable<TokenRead | undefined>
  /** Newest first (id descending), with the same settling of what is past its deadline. */
  list(filter: TokenFilter, page: PageRequest, now: number): Awaitable<TokenPage>
  /** Check or register, as one step: settled or past its deadline is answered settled, else the wait is registered. */
  await(request: TokenAwait): Awaitable<TokenAwaited>
  /**
   * Completes a token: wins only while it is `WAITING` and `now < timeoutAt`. A late one makes it `TIMED_OUT` and loses.
   * A settled token never changes again. All its waits become ready in the same step. Unknown: `undefined`. A fence that
   * is no longer right: `stale`, known or not, and a token past its deadline stays as it is.
   */
  settle(request: TokenSettle): Awaitable<TokenSettled | 'stale' | undefined>
  /** Drops waits, ready or not; of a run that another owner holds by now none: a stale attempt cannot mean that one's. */
  release(waits: readonly WaitRecord[]): Awaitable<void>
}

export interface TokenInserted extends Inserted<TokenRecord> {
  /** The holder of the key was past its deadline, and this call settled it: see {@link TokenRead}. */
  readonly settledNow?: boolean
}

export interface TokenRead {
  readonly record: TokenRecord
  /**
   * Here and below: this call settled the token, by its deadline if not by completing it. Of all calls and ticks that
   * ever meet a token exactly one says so, or lists it as `settled`; the end of a run is told by the update instead.
   */
  readonly settledNow: boolean
}

export interface TokenPage extends Page<TokenRecord> {
  /** Tokens that were settled by this call, on the page or, as the filter may no longer want them, not. */
  readonly settled: readonly TokenRecord[]
}

export interface TokenInsert {
  readonly record: TokenRecord
  /** The attempt that creates it. */
  readonly fence?: AttemptFence | undefined
  readonly now: number
  readonly by: string
}

export interface TokenAwait {
  readonly tokenId: string
  readonly runId: string
  readonly epoch: number
  readonly by: string
  readonly now: number
}

export type TokenAwaited =
  | { readonly outcome: 'settled'; readonly token: TokenRecord; readonly settledNow: boolean }
  | { readonly outcome: 'registered'; readonly token: TokenRecord }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'stale' }

export interface TokenSettle {
  readonly id: string
  readonly outputJson: string | undefined
  /** The attempt that completes it; none for the result of an effect, which has happened whoever holds the run now. */
  readonly fence?: AttemptFence | undefined
  /** As for the insert of a run. */
  readonly transaction?: object | undefined
  readonly by: string
  readonly now: number
}

export interface TokenSettled {
  readonly record: TokenRecord
  readonly won: boolean
  /** True for the completion that won and for a late one that made the token `TIMED_OUT`. */
  readonly settledNow: boolean
  /** The waits that became ready by this call. */
  readonly ready: readonly WaitRecord[]
}

export interface TokenFilter {
  readonly kind: TokenKind
  readonly status?: readonly TokenStatus[] | undefined
  /** Any of them. */
  readonly tags?: readonly string[] | undefined
  readonly key?: { readonly scope: string; readonly value: string } | undefined
  /** Bounds on `createdAt`, inclusive. */
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** `after` and `before` are ids: records older than `after`, or newer than `before`. At most one is given. */
export interface PageRequest {
  readonly limit: number
  readonly after?: string | undefined
  readonly before?: string | undefined
}

export interface Page<Record> {
  readonly records: readonly Record[]
  /** The `after` of the next (older) page, if there is one. */
  readonly next?: string | undefined
  /** The `before` of the previous (newer) page, if there is one. */
  readonly previous?: string | undefined
}

export interface ChunkStore {
  /**
   * Opens the segment of one attempt after the last chunk, and lists the key on the run. Not the attempt that holds the
   * run, by its epoch and as `by` (see {@link AttemptFence}): `undefined`. Opening the same attempt's segment again answers it as it is; appending to it after its end reopens it.
   */
  open(request: StreamOpen): Awaitable<StreamRecord | undefined>
  /**
   * Adds chunks at `first`, contiguously, by the fenced writer, and ends the segment when `end` is given. Repeating a
   * call within one segment changes nothing; other values at the same place, or a gap, are an error. Not the
   * attempt that holds the run: `stale`.
   */
  append(request: ChunkAppend): Awaitable<'appended' | 'stale'>
  /** Exactly the chunks from `from`, in order, with the stream as of the same instant. Unknown: `undefined`. */
  read(request: ChunkRead): Awaitable<ChunksRead | undefined>
}

export interface StreamOpen {
  readonly runId: string
  readonly key: string
  readonly epoch: number
  readonly attempt: number
  readonly by: string
  readonly now: number
}

export interface ChunkAppend {
  readonly runId: string
  readonly key: string
  readonly epoch: number
  readonly first: number
  readonly chunks: readonly ChunkRecord[]
  readonly end?: SegmentEnd | undefined
  /** How much a storage without a disk keeps. */
  readonly history: StreamHistory
  readonly by: string
}

export interface StreamHistory {
  readonly chunks: number
  readonly bytes: number
}

export interface ChunkRead {
  readonly runId: string
  readonly key: string
  readonly from: number
  readonly limit: number
}

export interface ChunksRead {
  readonly stream: StreamRecord
  /** Where `chunks` starts: `from`, or the oldest chunk kept if that is later. */
  readonly first: number
  readonly chunks: readonly ChunkRecord[]
}

export interface SettingStore {
  /** The stored value; the candidate is stored if there is none. */
  getOrInsert(name: string, candidate: string): Awaitable<string>
}

export interface TickRequest {
  readonly owner: string
  readonly leaseUntil: number
  /** The lease needs no end while no other engine is there, if this storage can tell. */
  readonly endless?: boolean
  readonly now: number
  /** `held` is wanted. */
  readonly census?: boolean
  /** At most this many records are settled by one tick. */
  readonly limit: number
}

export interface TickResult {
  /** False: the lease was lost. The caller aborts what it executes and goes on as another owner. */
  readonly alive: boolean
  /** All waits of this owner that are ready and were not released. */
  readonly ready: readonly WaitRecord[]
  /** Tokens this tick settled, and no other call. */
  readonly settled: readonly TokenRecord[]
  /** Runs this tick made `EXPIRED`. */
  readonly expired: readonly RunUpdated[]
  /** Whether a claim would find something, as far as this storage can tell cheaply. */
  readonly claimable: boolean
  /** The next instant at which a tick or a claim finds something that is not ready now, ends of leases aside. */
  readonly nextDue?: NextDue | undefined
  /** The next end of another owner's lease that holds runs. */
  readonly nextLease?: NextDue | undefined
  /**
   * When the lease ends. None: it is endless, until another engine comes, which ends it at its own first `leaseUntil`
   * and hints `waits`.
   */
  readonly leaseUntil?: number | undefined
  /** How many runs the owner holds, if this storage would rather count them than be asked for each. */
  readonly held?: number | undefined
  /** As of `time`. */
  readonly time?: number | undefined
}

export interface NextDue {
  readonly at: number
  /** What is due: `token <id>`, `run <id>`, `lease <owner>`, for people. */
  readonly what: string
}

export type Hint =
  /**
   * Waits of the owner are ready. `runIds`: those of these runs, and there is nothing else to look for. A storage that
   * names runs answers a resume of one of them with what it waited for, which spares the tick.
   */
  | { readonly topic: 'waits'; readonly runIds?: readonly string[] | undefined }
  /** Nobody knows what: hints may have been lost, or are not to be had. */
  | { readonly topic: 'any' }
  | { readonly topic: 'queue' }
  | { readonly topic: 'run'; readonly runId: string }
  | { readonly topic: 'stream'; readonly runId: string; readonly key: string }

export interface PruneRequest {
  /** Finished runs and settled tokens that ended before this instant go, with what belongs to them. */
  readonly before: number
  /** At most this many settled records stay, whatever their age; the oldest go first. */
  readonly keep?: number | undefined
  readonly limit: number
  readonly now: number
}
