import type {
  ChunkRecord,
  FieldsOf,
  KeyRecord,
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

/** An adapter may answer at once, without a promise. */
export type Awaitable<T> = T | Promise<T>

/**
 * Where records live: the required part, which makes an engine correct. Everything in {@link StorageExtras} and in the
 * other interfaces at the end of this file is optional. `docs/writing-a-storage.md` explains both.
 *
 * - Every method is one atomic operation. Every race is one compare-and-set here, and the call that loses is told so.
 * - No method reads a clock: `now` is an argument. `now` alone decides which deadlines are due, and which call wins.
 * - Instants within one record never decrease, even if `now` does. A storage writes `startedAt`, `finishedAt`,
 *   `completedAt` and `updatedAt` no earlier than the instants that the record has already.
 * - A method resolves once its effect is as durable as the adapter documents.
 * - A method that cannot be done now, for a reason outside of the call, rejects with a `StorageUnavailableError`.
 * - `by` names the engine that calls. Hints go to the other engines only.
 * - An adapter acquires what it needs in `open` and releases it when the last owner has left.
 */
export interface Storage extends StorageExtras {
  readonly runs: RunStore
  readonly tokens: TokenStore
  readonly chunks: ChunkStore
  readonly settings: SettingStore
  /** Opens and migrates. Each engine calls it once, before anything else. Rejects with an error that says why it cannot. */
  open(): Awaitable<void>
  /** Renews the lease of the caller, settles tokens past their deadline, hands over waits that became ready. */
  tick(request: TickRequest): Awaitable<TickResult>
  /** Hints that an engine other than `owner` changed something. They only save time: the next tick or read finds it too. */
  subscribe(owner: string, listener: (hint: Hint) => void): Unsubscribe
  /** A graceful end: the lease of the owner ends, and its runs may be claimed at once, without an interruption. */
  leave(request: { readonly owner: string; readonly now: number }): Awaitable<void>
  /** Drops old records in one small batch. Answers how many were dropped. What another call is at may be left to the next one. */
  prune(request: PruneRequest): Awaitable<number>
}

export type Unsubscribe = () => void

export interface RunStore extends RunStoreExtras {
  /**
   * Stores a new run. If an unexpired idempotency key has a holder, the holder is answered instead (`isCached`). The new
   * run takes an expired key over, and the old record stays. Of two inserts at once exactly one is not cached. A fence that
   * does not hold answers `stale`, even if the key has a holder. An id that is taken is an error.
   */
  insert(request: RunInsert): Awaitable<RunInserted | 'stale'>
  /**
   * With `among`, a run that is not one of these is answered like an unknown run, and its record is not read: the time of
   * the answer must not tell a stranger that the run exists, nor how large it is.
   */
  get(id: string, among?: RunsAmong): Awaitable<RunRecord | undefined>
  /** Newest first (id descending). */
  list(filter: RunFilter, page: PageRequest): Awaitable<Page<RunRecord>>
  /** The tokens that a run waits for and that are not settled, in order of registration. */
  waits(id: string): Awaitable<readonly TokenRecord[]>
  /**
   * Everything the attempts of a run have asked for: its tokens and child runs whose key is of the run's own scope and
   * never expires, oldest first. Empty for an unknown run.
   */
  asked(id: string): Awaitable<RunAsked>
  /**
   * Changes the run if status and epoch are as expected, else changes nothing and answers `undefined`. A final status, in
   * the same step, settles the token of the run (the waits for it become ready and are answered), ends its open stream
   * segments as `interrupted`, and drops its waits.
   *
   * A change that names `owner` hands an `EXECUTING` run back: it has no owner and no slot, and is claimed as after a
   * graceful end of its owner, without an interruption.
   */
  update(request: RunUpdate): Awaitable<RunUpdated | undefined>
  /**
   * Hands runs to an owner with a live lease, within the limits of their queues. Each run goes to exactly one owner. Runs that
   * go on come before runs that start, whatever their priority. Among each the oldest come first: by `wakeAt` of a `DELAYED` run, else by
   * `createdAt`, less its `priorityMs`. These runs can be claimed:
   *
   * - due `DELAYED` and `QUEUED` runs: `attempt` and `policyAttempt` + 1, and the `version` that `versions` names;
   * - `EXECUTING` runs without a living owner: `attempt` + 1, and `interruptions` + 1 unless the owner left gracefully;
   * - `WAITING` runs without a living owner that have returned, or that have a wait that is settled or due: `attempt` + 1.
   *
   * A claimed run is `EXECUTING`, holds a slot, has the caller as owner and a raised epoch. Its open stream segments end as
   * `interrupted`, and its old waits are dropped.
   *
   * Some runs end instead, and are answered in `ended`: `EXPIRED` past `expiresAt` before the first start, `CRASHED` past
   * `maxInterruptions` if no other run of its owner was `EXECUTING` when the lease of that was lost, `COMPLETED` if the function had
   * already returned. The last two get a raised epoch, so that an attempt that was only slow does not take this end for its own.
   *
   * Suspects are `EXECUTING` runs without a living owner that hold their slot, have not returned and whose `interruptions`, as claimed,
   * are above 0. They come before all others, those with the fewest `interruptions` first. With `d` of them, and a trial at
   * `t = max(4, maxInterruptions)`, a suspect is claimed only
   *
   * - while the caller executes fewer than `2 ** (t - d)` suspects, those of this claim included, if `d < t`; else it is left (`isHeldBack`);
   * - by a claim with `isTrial`, which claims nothing else, if `d >= t`; else it is left (`isTrialDue`).
   *
   * Each owner numbers its claims upwards. A number that is not above its last is a claim that came too late: it changes nothing
   * and answers nothing. A claim that was refused because the lease was not live does not count.
   *
   * A claim with a `limit` of 0 is a muster: nothing is claimed, and `runs` are all that are `EXECUTING` for the caller. So an
   * engine finds out what it was given by calls whose answers were lost, and these give it nothing any more.
   */
  claim(request: RunClaim): Awaitable<RunClaimed>
  /**
   * `EXECUTING` becomes `WAITING` if the run has parked `parks - 1` times, and has parked `parks` times then. The slot is freed,
   * `interruptions` is 0 again. A run that waits in this park is answered once more. Not as expected: `undefined`.
   */
  park(request: RunFence): Awaitable<RunRecord | undefined>
  /**
   * `WAITING` in the park of this number becomes `EXECUTING` and takes a slot of its queue. Without a free slot the answer is `full`, and no
   * queued run of that queue is claimed before this run gets its slot. A run that executes since this park is answered once more. Not as
   * expected: `stale`.
   */
  resume(request: RunResume): Awaitable<RunResumed>
  /** The mark of each scope, in order; see {@link RunInsert.mark}. `undefined` for a scope that has none. */
  marks(scopes: readonly string[]): Awaitable<readonly (number | undefined)[]>
}

/**
 * The attempt that writes. The fence holds while the run is `EXECUTING` or `WAITING` with this epoch and its owner is the
 * `by` of the request. It is checked in the same step as the write. If it does not hold, nothing is written, and no stored
 * record is answered. A call from outside a run has no fence and is never stale.
 */
export interface AttemptFence {
  readonly runId: string
  readonly epoch: number
}

export interface RunInsert extends InsertExtras {
  readonly record: RunRecord
  /** The attempt that triggers the run, whether it waits for it or not. */
  readonly fence?: AttemptFence | undefined
  /** A holder of the key with this id gives it up, as if the key had expired. Any other holder is answered. */
  readonly instead?: string | undefined
  /**
   * The run is that of an instant of a schedule. The highest `mark` of all inserts with keys of one scope is stored as the
   * mark of the scope, in the same step, also if the key has a holder. It is kept whatever becomes of runs. The key holds for as
   * long as its run is kept, also when it has expired.
   */
  readonly mark?: number | undefined
  /**
   * Asked only of a storage that `debounces`. The run that was stored last with the key is put off and answered
   * (`isCached`), whether or not the key has expired. If it cannot be put off, the new run is stored: it is another one than
   * `DELAYED`, was started before, is due at `now`, or would be put off for too long. The epoch of a run that is put off is raised, so
   * that an update of what was read before does not take the push back. `instead` is not asked for with it.
   */
  readonly push?: RunPush | undefined
  /**
   * Asked only with a `push` and a `fence`: binds a place of the run that inserts to the run that is answered. In the same step a
   * token is stored, of kind `BINDING` and with a key of the run's own; its `outputJson` is the JSON text of the id of the
   * answered run. If there is a token with this key, the run that it names is answered as it is (`isCached`), and nothing
   * is stored or put off.
   */
  readonly bind?: RunBinding | undefined
  /**
   * A transaction of the caller that this call joins; see `joinsTransactions`. The call takes effect when the caller
   * commits, or not at all. Hints are sent after the commit, and also to the caller, whose answer came before it. After an
   * error the caller decides what becomes of the transaction.
   */
  readonly transaction?: object | undefined
  readonly now: number
  readonly by: string
}

/** How a run that has not begun is put off by a later trigger of its key. */
export interface RunPush {
  /** The `wakeAt` of the run, unless it has a later one. Its `expiresAt` moves by as much as its `wakeAt` does. */
  readonly wakeAt: number
  /** A run is not put off if this `wakeAt` is further than so many milliseconds after its `createdAt`. */
  readonly withinMs?: number | undefined
  /** The fields that are replaced, in a run that is put off. A field that is not there stays as it is. */
  readonly change?: PushedChange | undefined
}

/** A token that binds a place of a run to another run; storage gives it the id of that run. */
export type RunBinding = Omit<TokenRecord, 'outputJson'> & { readonly key: KeyRecord }

/** The fields of a run that a push may replace. */
export type PushedChange = Partial<Pick<RunRecord, 'payloadJson' | 'metadataJson' | 'tags' | 'optionsJson'>>

export interface Inserted<Record> {
  readonly record: Record
  readonly isCached: boolean
}

export interface RunInserted extends Inserted<RunRecord>, InsertedExtras {}

/** See {@link RunStore.asked}. */
export interface RunAsked {
  readonly tokens: readonly TokenRecord[]
  readonly runs: readonly RunRecord[]
}

/**
 * An attempt, and a park of its run: the first is 1, and no claim takes the number back. A call that arrives late, once the run has gone
 * on or has parked again, names another park than the run is in.
 */
export interface RunFence {
  readonly id: string
  readonly epoch: number
  readonly parks: number
  readonly by: string
  readonly now: number
}

export interface RunResume extends RunFence, ResumeExtras {
  readonly queueLimit?: number | undefined
  /** As in a claim. */
  readonly limits?: ReadonlyMap<string, RunLimit> | undefined
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
  /** Waits of other runs for this run that became ready. */
  readonly ready: readonly WaitRecord[]
}

export interface RunClaim {
  readonly by: string
  readonly now: number
  /** From 1. Higher than the number of the owner's last claim. */
  readonly number: number
  readonly taskIds: readonly string[]
  /** The version of each task's code: that of the runs which begin an attempt of their policy. */
  readonly versions?: ReadonlyMap<string, string> | undefined
  readonly limit: number
  /** Limits by queue name, counted per concurrency key. A queue that is not named has no limit, unless one is set; see {@link QueueStore}. */
  readonly queueLimits: ReadonlyMap<string, number>
  /** Rates by queue name; see {@link QueueRate}. Asked only of a storage with `rates`. A queue that is not named has none, unless one is set. */
  readonly queueRates?: ReadonlyMap<string, QueueRate> | undefined
  /** Further limits by name; see {@link RunLimit}. Asked only of a storage with `limits`. One that is not named holds no run back, unless something is set of it. */
  readonly limits?: ReadonlyMap<string, RunLimit> | undefined
  readonly maxInterruptions: number
  /** How many suspects the caller executes. Absent: none. */
  readonly suspects?: number | undefined
  /** Asks for a suspect that the caller is to execute alone; the `limit` is 1. */
  readonly isTrial?: boolean | undefined
}

export interface RunClaimed extends ClaimedExtras {
  readonly runs: readonly RunRecord[]
  readonly ended: readonly RunUpdated[]
  /** Runs were left that are to be executed alone. */
  readonly isTrialDue?: boolean | undefined
}

export type RunResumed =
  | {
      readonly outcome: 'resumed'
      readonly record: RunRecord
      /** The answer to `isHinted`: the settled tokens that the run waits for. */
      readonly tokens?: readonly TokenRecord[] | undefined
    }
  /** `pool`: one of the run's that had no slot, by its id in `pools.ts`. Absent: that of its queue. */
  | { readonly outcome: 'full'; readonly pool?: string | undefined }
  | { readonly outcome: 'stale' }

/** The runs of some tasks and the runs with some tags, together. */
export interface RunsAmong {
  readonly taskIds: readonly string[]
  /** `any`: all runs that have a tag. */
  readonly tags: readonly string[] | 'any'
}

export interface RunFilter {
  readonly status?: readonly RunStatus[] | undefined
  readonly taskIds?: readonly string[] | undefined
  /** Leaves out the runs of these tasks. */
  readonly notTaskIds?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** The runs below this one, which no run has triggered, however deep: those with a parent and this `rootId`. */
  readonly root?: string | undefined
  /** Only runs without a parent. */
  readonly isRoot?: true | undefined
}

export interface TokenStore {
  /**
   * Like the insert of a run. Answering the holder of a key is a read: past its deadline the holder is settled in the same
   * step, before it is answered. A new token past its deadline is settled by the next read or tick, like any other.
   */
  insert(request: TokenInsert): Awaitable<TokenInserted | 'stale'>
  /** Settles a token past its deadline in the same step, before it is answered. */
  get(id: string, now: number, extras?: TokenGetExtras): Awaitable<TokenRead | undefined>
  /** Newest first (id descending). Settles tokens past their deadline as `get` does. */
  list(filter: TokenFilter, page: PageRequest, now: number): Awaitable<TokenPage>
  /** Checks and registers in one step: a token that is settled or past its deadline is answered settled, else the wait is stored. */
  await(request: TokenAwait): Awaitable<TokenAwaited>
  /**
   * Completes a token. The call wins only if the token is `WAITING` and `now < timeoutAt`. A late call makes the token
   * `TIMED_OUT` and loses. A settled token never changes again. All its waits become ready in the same step. An unknown
   * token answers `undefined`. A fence that does not hold answers `stale`, even for an unknown token, and a token past its
   * deadline stays as it is.
   *
   * Before its deadline a `WAITING` token with another `questionJson` than `question` stays as it is, too: it is answered `WAITING`, with
   * no `won`, no `settledNow` and nothing `ready`, and the caller asks again once it has checked the answer against that question.
   */
  settle(request: TokenSettle): Awaitable<TokenSettled | 'stale' | undefined>
  /**
   * Gives a token another question or deadline, if it is `WAITING` at `now` and its `questionJson` is `question`; else only reads it, and
   * settles a token past its deadline as `get` does. What waits for the token is due at the new deadline; past it already, the token is
   * settled by the next read or tick. Without a token of its own, such as the end of a run: `undefined`. Hinted and fenced as a settle is;
   * of another deadline all other owners are hinted with `any`, since it may be the next thing that is due. Laws: `tokens.change/…`,
   * `subscribe/tells-of-moved-deadlines`.
   */
  change(request: TokenChange): Awaitable<TokenChanged | 'stale' | undefined>
  /**
   * Drops waits, ready or not. A wait of a run that another owner holds by now stays: it is not the caller's. One that another call is
   * at may stay too: once it is ready, each tick answers it.
   */
  release(waits: readonly WaitRecord[]): Awaitable<void>
}

export interface TokenInserted extends Inserted<TokenRecord> {
  /** Whether the holder of the key was past its deadline and this call settled it; see {@link TokenRead}. */
  readonly settledNow?: boolean
}

export interface TokenRead {
  readonly record: TokenRecord
  /**
   * Whether this call settled the token, by its deadline or by completing it. Of all calls and ticks that meet a token
   * exactly one says so, or lists the token as `settled`. The end of a run is told by `update` instead.
   */
  readonly settledNow: boolean
  /** The answer to `waiters`; see {@link TokenGetExtras}. */
  readonly waiters?: readonly string[] | undefined
}

export interface TokenPage extends Page<TokenRecord> {
  /** Tokens that this call settled. Some may be missing from the page, because the filter no longer matches them. */
  readonly settled: readonly TokenRecord[]
}

export interface TokenInsert {
  readonly record: TokenRecord
  /** The attempt that creates the token. */
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

export interface TokenSettle extends SettleExtras {
  readonly id: string
  readonly outputJson: string | undefined
  /** The question that the answer was checked against. Absent: the token is none. */
  readonly question?: string | undefined
  /** Stored with the token, if this call wins. */
  readonly answeredJson?: string | undefined
  /** The attempt that completes the token. The result of an effect has none: it has happened, even if the run has a new owner. */
  readonly fence?: AttemptFence | undefined
  /** See {@link RunInsert}. */
  readonly transaction?: object | undefined
  /** Asked only of a storage that `timesOut`. */
  readonly isTimeOut?: boolean
  readonly by: string
  readonly now: number
}

export interface TokenSettled extends SettledExtras {
  readonly record: TokenRecord
  readonly won: boolean
  /** True for the completion that won, and for a late one that made the token `TIMED_OUT`. */
  readonly settledNow: boolean
  /** The waits that became ready by this call. */
  readonly ready: readonly WaitRecord[]
}

export interface TokenChange {
  readonly id: string
  /** The `questionJson` that is expected. */
  readonly question: string | undefined
  /** Absent: it stays. */
  readonly questionJson?: string | undefined
  /** Absent: it stays. */
  readonly timeoutAt?: number | undefined
  /** The attempt that changes the token. */
  readonly fence?: AttemptFence | undefined
  readonly by: string
  readonly now: number
}

export interface TokenChanged extends TokenRead {
  readonly changed: boolean
}

export interface TokenFilter {
  readonly kind: TokenKind
  readonly status?: readonly TokenStatus[] | undefined
  /** Tokens with any of these tags. */
  readonly tags?: readonly string[] | undefined
  readonly key?: { readonly scope: string; readonly value: string } | undefined
  /** Bounds on `createdAt`, inclusive; asked of tokens of the kind `MANUAL` only. */
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** Records older than the id `after`, or newer than the id `before`. At most one of the two is given. */
export interface PageRequest {
  readonly limit: number
  readonly after?: string | undefined
  readonly before?: string | undefined
  /** The page is for people: it may be from a moment ago, and nothing is decided by it. */
  readonly mayLag?: boolean
}

export interface Page<Record> {
  readonly records: readonly Record[]
  /** The `after` of the next (older) page, if there is one. */
  readonly next?: string | undefined
  /** The `before` of the previous (newer) page, if there is one. */
  readonly previous?: string | undefined
}

export interface ChunkStore extends ChunkStoreExtras {
  /**
   * Opens the segment of one attempt after the last chunk, and lists the key on the run. A second call for one attempt
   * answers the segment as it is; an append to it after its end opens it again. If the caller is not the attempt that holds
   * the run (see {@link AttemptFence}), the answer is `undefined`.
   */
  open(request: StreamOpen): Awaitable<StreamRecord | undefined>
  /**
   * Adds chunks from `first` on, without a gap, and ends the segment if `end` is given. A repeated call within one segment
   * changes nothing. Other values at the place of stored ones, or a gap, are an error. If the caller is not the attempt
   * that holds the run, the answer is `stale`. If other runs have added chunks from `first` on, nothing is appended, and the
   * answer is where the next chunk goes: see {@link ChunkStoreExtras.add}.
   *
   * `written` is stored in the same step, for this attempt and later ones, and no number decreases. A storage in memory
   * may forget the writers that wrote longest ago, beyond `history.chunks`.
   */
  append(request: ChunkAppend): Awaitable<'appended' | 'stale' | ChunksMoved>
  /** Exactly the chunks from `from` on, in order, with the stream as of the same instant. Unknown: `undefined`. */
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
  /** How far writers outside of the run have got with these chunks, each once. Absent if the run wrote all of them. */
  readonly written?: readonly WriterProgress[] | undefined
  /** How much history a storage in memory keeps. */
  readonly history: StreamHistory
  readonly by: string
}

/** How far a writer has got. It counts its chunks itself. */
export interface WriterProgress {
  readonly writer: string
  /** The number of its last chunk, from 0. */
  readonly last: number
}

/** Other runs have added chunks since: an append of the run itself begins at `next`. */
export interface ChunksMoved {
  readonly next: number
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
  /** Asks how far this writer has got. */
  readonly writer?: string | undefined
}

export interface ChunksRead {
  readonly stream: StreamRecord
  /** The sequence of the first of `chunks`: `from`, or that of the oldest chunk kept if it is later. */
  readonly first: number
  readonly chunks: readonly ChunkRecord[]
  /** The answer to `writer`: the number of its last chunk. Absent if there is none. */
  readonly written?: number | undefined
}

export interface SettingStore {
  /** Answers the stored value. If there is none, the candidate is stored and answered. */
  getOrInsert(name: string, candidate: string): Awaitable<string>
}

export interface TickRequest extends TickExtras {
  readonly owner: string
  readonly leaseUntil: number
  readonly now: number
  /** One tick settles at most this many records. */
  readonly limit: number
}

export interface TickResult extends TickResultExtras {
  /** False: the lease was lost. The caller aborts the runs it executes and goes on as another owner. */
  readonly alive: boolean
  /** All waits of this owner that are ready and were not released. */
  readonly ready: readonly WaitRecord[]
  /** Tokens that this tick, and no other call, settled. */
  readonly settled: readonly TokenRecord[]
  /** Runs that this tick made `EXPIRED`. */
  readonly expired: readonly RunUpdated[]
  /** Whether a claim would find a run, as far as this storage can tell cheaply. */
  readonly claimable: boolean
  /** The next instant at which a tick or a claim finds something that is not ready now. Ends of leases do not count. */
  readonly nextDue?: NextDue | undefined
  /** The next end of another owner's lease, among owners that hold runs. */
  readonly nextLease?: NextDue | undefined
  /** When the lease of the caller ends. Absent: the lease is endless, see {@link TickExtras}. */
  readonly leaseUntil?: number | undefined
}

export interface NextDue {
  readonly at: number
  /** The name of the thing that is due, for people: `token <id>`, `run <id>` or `lease <owner>`. */
  readonly what: string
}

export type Hint =
  /** Waits of the owner are ready. */
  | ({ readonly topic: 'waits' } & WaitsHintExtras)
  /** Hints may have been lost: the engine looks at everything. */
  | { readonly topic: 'any' }
  /** There may be a run to claim, or a free slot. */
  | { readonly topic: 'queue' }
  /** A run is new, or has changed. */
  | ({ readonly topic: 'run'; readonly runId: string } & RunHintExtras)
  /** Manual tokens were created, changed or settled. A storage may leave this out: lists of tokens look now and then. */
  | { readonly topic: 'token' }
  | { readonly topic: 'stream'; readonly runId: string; readonly key: string }

export interface PruneRequest {
  /**
   * Finished runs and settled tokens that ended before this instant are dropped, with everything that belongs to them.
   * These stay, whatever their age and number: a run that has a slot; what a key holds that has not expired; what a run that is not over created,
   * asked for, is bound to (see {@link RunInsert.bind}) or has a wait for; what belongs to a root that is not over; and a completed `MANUAL` token that no run created,
   * until its deadline, because the run that it was completed for may be yet to come.
   */
  readonly before: number
  /**
   * At most this many ended records stay, of any age. The oldest are dropped first. A storage that can tell cheaply counts
   * only those that may go. It may count an answer among them before its deadline, once a run that waited for it is over.
   */
  readonly keep?: number | undefined
  /** At most so many bytes of memory are taken by ended records that may go, as estimated; a durable storage ignores it. */
  readonly keepBytes?: number | undefined
  readonly limit: number
  readonly now: number
}

// From here on everything is optional. An engine is correct without it.

/** Optional properties of a {@link Storage}. */
export interface StorageExtras {
  /** How long ended records are kept here unless the engine has a `retention` option. Default: 30 days. */
  readonly retention?: { readonly maxAgeMs: number; readonly maxCount?: number; readonly maxBytes?: number }
  /**
   * The memory of ended records that may go, as {@link PruneRequest.keepBytes} counts it, for a storage in memory. Asked
   * after every end: above the limit, the next batch is pruned at once.
   */
  readonly endedBytes?: () => number
  /** At most so many records in one call of `prune`, for a storage that holds up the process meanwhile. Default: 1,000. */
  readonly pruneLimit?: number
  /**
   * Whether chunks of a stream that its `history` does not hold are dropped, as in memory. Then the engine keeps for a task
   * the chunks of its own source that it has not read. Default: false, all chunks are kept.
   */
  readonly boundedHistory?: boolean
  /** Whether an insert or a settle may join a transaction of the caller (`transaction`). Default: false. */
  readonly joinsTransactions?: boolean
  /** The time at the storage, for a storage that several machines share. Absent: all engines have one clock. */
  readonly time?: () => Awaitable<number>
  /**
   * Waits for an engine that leaves: `left` resolves when the opening that was under way has ended, and then `leave`. For a storage whose answers may
   * never come: it gives up what is still asked, and waits no more. Absent: the engine waits for `left`.
   */
  readonly untilLeft?: (left: Promise<void>) => Awaitable<void>
  /** How many records there are of each status. Absent: the engine lists them. Laws: `counts/…`. */
  readonly counts?: CountStore
  /** The leases of engines, for people. They are few. Law: `leases/lists-engines`. */
  readonly leases?: () => Awaitable<readonly LeaseRecord[]>
  /**
   * What is due next, at most `limit`, the earliest first; for people. What a `nextDue` can be is listed: deadlines of tokens,
   * and instants at which a run is looked at. Law: `due/lists-what-is-next`.
   */
  readonly due?: (limit: number) => Awaitable<readonly NextDue[]>
  /**
   * Whether a settle may end a wait before its deadline (`isTimeOut`): a token is withdrawn. Such a settle wins as a completion would; it makes
   * `now` the deadline, and the token `TIMED_OUT` at it. Default: false. Law: `tokens.settle/times-out-early`.
   */
  readonly timesOut?: boolean
  /** Limits of queues that are set while engines run. Absent: an engine can set none. Laws: `queues/…`. */
  readonly queues?: QueueStore
  /** Whether a claim keeps to rates (`queueRates`, and those that are set of `queues`). Default: false. Laws: `rates/…`. */
  readonly rates?: boolean
  /** Whether claims and resumes keep to further limits of runs (`limits`); see {@link RunLimit}. Default: false. Laws: `limits/…`. */
  readonly limits?: boolean
  /** Whether an insert may put off a run that has not begun (`push`, `bind`). Default: false. Laws: `runs.insert/push…`, `prune/keeps-what-is-bound`. */
  readonly debounces?: boolean
  /** Schedules that are created while engines run. Absent: an engine can create none. Laws: `schedules/…`. */
  readonly schedules?: ScheduleStore
  /** Whether an insert may claim its run (`claim`); see {@link NewRunClaim}. Default: false. Laws: `runs.insert/claims…`. */
  readonly claimsNew?: boolean
  /** Whether a settle may resume a run that waits for the token (`resume`); see {@link RunToResume}. Default: false. Laws: `tokens.settle/resumes…`. */
  readonly resumesWaiting?: boolean
}

/**
 * Saves a new run its claim: a storage that `claimsNew` claims the run for the caller in the same step as it is inserted, and
 * answers `isClaimed`. It does so only for a `QUEUED` run that the caller, with a live lease, would claim next: no run of the tasks that
 * the caller executes can be claimed already, and nothing is set of its queue. Otherwise the run is inserted, and claimed by a claim.
 *
 * If the answer to the insert is lost, the caller makes a muster with a number above `number`; from then on no insert with a lower number
 * claims its run.
 */
export interface NewRunClaim {
  /** The tasks that the caller executes. */
  readonly taskIds: readonly string[]
  /** The version of the code of the task of the run. */
  readonly version?: string | undefined
  /** The number of the last claim that the caller has made. After a claim with a higher one the run is not claimed. */
  readonly number: number
}

/** The optional part of a {@link RunStore}. */
export interface RunStoreExtras {
  /**
   * Frees an idempotency key before it expires. The run that was stored last with it is answered; if its key has not expired, `isFreed`, and the
   * `expiresAt` of its key becomes its `createdAt`, or `now` if that is earlier. Nothing else of the run changes, and no older run
   * of the key holds it. Once this is answered, no insert answers the holder for this key, also one with an earlier `now`. Without a run
   * of the key: `undefined`.
   *
   * It is not asked for keys of a run's own scope. A fence that does not hold answers `stale`, whether there is a run or not. Absent: an
   * engine can free none. Laws: `runs.freeKey/…`.
   */
  freeKey?(request: KeyFree): Awaitable<KeyFreed | 'stale' | undefined>
}

/** The optional part of a {@link ChunkStore}. */
export interface ChunkStoreExtras {
  /**
   * Adds chunks that an attempt of another run writes, after the last chunk, whatever the run that has the stream does meanwhile. They
   * belong to its last attempt, whose segment is opened, and its key listed, as `open` does. Without chunks, that is all.
   *
   * If the `fence` does not hold, the answer is `stale`. If the run that has the stream is unknown, has not begun or has ended, the
   * answer is `closed`. Then nothing is written. Chunks up to the number that is stored for the writer (`written`) are not
   * added again: `written` has the number of the last of `chunks`.
   *
   * A segment that several runs write to ends when all of them have ended it, with the worst end. The run that has it is one of
   * them from its own `open` on. Another run is one from its first `add` to that with an `end`; a later attempt of it takes the place of
   * an earlier one. Worst is `failed`, then `interrupted`, then `isIntended`, and `done` is the best.
   *
   * Absent: no run writes to streams of another one. Laws: `chunks.add/…`.
   */
  add?(request: ChunkAdd): Awaitable<'added' | 'stale' | 'closed'>
}

export interface ChunkAdd extends Pick<ChunkAppend, 'key' | 'chunks' | 'end' | 'history' | 'by'> {
  /** The run that has the stream. */
  readonly runId: string
  /** The attempt that writes: of another run. */
  readonly fence: AttemptFence
  /** The writer is this attempt, or a part of it, such as its hooks; each counts its chunks from 0. Absent without chunks. */
  readonly written?: WriterProgress | undefined
  readonly now: number
}

export interface KeyFree {
  readonly key: Pick<KeyRecord, 'scope' | 'value'>
  /** The attempt that frees it. */
  readonly fence?: AttemptFence | undefined
  readonly by: string
  readonly now: number
}

export interface KeyFreed {
  readonly runId: string
  /** Whether this call freed the key. False: it had expired, or was freed before. */
  readonly isFreed: boolean
}

/** The optional part of a {@link RunInsert}. */
export interface InsertExtras {
  /** Asked only of a storage that `claimsNew`, and only for a run that has no limit and whose queue has no rate. With a `transaction` nothing is claimed. */
  readonly claim?: NewRunClaim | undefined
}

/** The optional part of the answer to the insert of a run. */
export interface InsertedExtras {
  /** The answer to `claim`: whether this insert has claimed the run, which is still as it was claimed. */
  readonly isClaimed?: boolean | undefined
}

/**
 * Saves a parked run its resume: a storage that `resumesWaiting` resumes the run in the same step as the token is settled, and
 * answers it. It does so only if this settle makes a wait of the run ready, and the run is `WAITING` with this epoch in this park and its owner
 * is the `by` of the settle, and never beyond what is set of its queue. It may leave the run as it is for any other reason: the caller then resumes it as
 * usual, as it does after a lost answer. For a run that has resumed by then, that answers the run once more.
 */
export interface RunToResume {
  readonly runId: string
  readonly epoch: number
  readonly parks: number
}

/** The optional part of a {@link TokenSettle}. */
export interface SettleExtras {
  /** Asked only of a storage that `resumesWaiting`, and only for a run without a limit. With a `transaction` nothing is resumed. */
  readonly resume?: RunToResume | undefined
}

/** The optional part of a {@link TokenSettled}. */
export interface SettledExtras {
  /** The answer to `resume`: the run, if this settle has resumed it. */
  readonly resumed?: RunRecord | undefined
}

/**
 * What is set of queues while engines run. It comes before the limits that a claim or a resume names, and each of them looks at it in its
 * own step: once a change is answered, no engine gives a run of the queue a slot beyond it. Runs that have a slot keep it.
 */
export interface QueueStore {
  /** What is set of one queue, and its runs as of the same instant; with the starts of its runs under one concurrency key, or without one. */
  get(name: string, concurrencyKey?: string): Awaitable<QueueState>
  /** All queues of which something is set, by name. */
  list(): Awaitable<readonly QueueSettings[]>
  /**
   * Sets what is given, and leaves the rest; answers what is set then. Hinted to all other engines as `queue`. A fence that does not hold
   * answers `stale`, and nothing changes.
   */
  set(change: QueueChange): Awaitable<QueueSettings | 'stale'>
}

export interface QueueSettings {
  readonly name: string
  /** No run gets a slot. */
  readonly isPaused: boolean
  /** How many runs may hold a slot, counted for each concurrency key. Absent: as the claim or the resume says. */
  readonly limit?: number | undefined
  /** When the limit was set. */
  readonly limitedAt?: number | undefined
  /** Absent: as the claim says. */
  readonly rate?: QueueRate | undefined
  /** When the rate was set. */
  readonly ratedAt?: number | undefined
}

/**
 * How many runs of a queue may start in any `perMs` milliseconds, wherever these begin, for each concurrency key. A run starts when a
 * claim raises its `policyAttempt`: for the first time, and for each retry. A run that goes on does not start: one that was interrupted or handed back, or
 * that has waited.
 *
 * A claim counts the starts in its own step, for as long as the queue has a rate. A run beyond the rate is left, as by a queue that is full, and the
 * claim answers `nextStartAt`. Starts are counted at instants that do not decrease, so that a clock that is set back makes no room. Of
 * a `limit` above 100 several starts may be counted together, at the latest of them, if they are less than a hundredth of `perMs` apart.
 */
export interface QueueRate {
  readonly limit: number
  readonly perMs: number
}

/**
 * A limit that a run has besides that of its queue: how many of the runs that name it in their `limits` may hold a slot, over all
 * concurrency keys (`total`), and for each key or without one (`perKey`). Absent: any number.
 *
 * A claim or a resume gives a run a slot in all of its pools or in none, and a run that gives back its slot gives back all. A run
 * whose resume was refused keeps new runs from the slots that it needs in every pool of its, also in those that had one. What is set of the name in
 * {@link QueueStore} comes before what the claim says: a pause, and a limit, which is that of each key unless the claim has only a total.
 */
export interface RunLimit {
  readonly total?: number | undefined
  readonly perKey?: number | undefined
}

export const RATE_FIELDS: FieldsOf<QueueRate> = { limit: { type: 'number' }, perMs: { type: 'number' } }

/** How it is stored: see `RUN_FIELDS`. */
export const QUEUE_FIELDS: FieldsOf<QueueSettings> = {
  name: { type: 'name' },
  isPaused: { type: 'flag', column: 'paused' },
  limit: { type: 'number', column: 'most', isOptional: true },
  limitedAt: { type: 'number', isOptional: true },
  rate: { type: 'rate', isOptional: true },
  ratedAt: { type: 'number', isOptional: true },
}

/** Runs of a queue that have started, counted at one instant. */
export interface QueueStart {
  readonly at: number
  readonly count: number
}

export interface QueueState extends QueueSettings {
  /** How many runs hold a slot. */
  readonly slots: number
  /** How many parked runs have been refused one and wait for it. */
  readonly refused: number
  /** Of a storage with `rates`: what its rate counts, in order. Those that are over may be missing. */
  readonly starts?: readonly QueueStart[] | undefined
}

export interface QueueChange {
  readonly name: string
  readonly isPaused?: boolean | undefined
  /** `null`: none is set any more. */
  readonly limit?: number | null | undefined
  /** `null`: none is set any more. What has started still counts if there is a rate again. Asked only of a storage with `rates`. */
  readonly rate?: QueueRate | null | undefined
  /** The attempt that changes it. */
  readonly fence?: AttemptFence | undefined
  readonly now: number
  readonly by: string
}

/** Schedules that were created. What one is, is a text that a storage never looks into. */
export interface ScheduleStore {
  /** The text of one; `undefined` if there is none. */
  get(id: string): Awaitable<string | undefined>
  /** All of them, by id; `undefined` if nothing has changed since the answer with the revision `known`. */
  list(known?: string): Awaitable<ScheduleList | undefined>
  /**
   * Puts a text in the place of the one that is expected. Answers whether it did: if another text is there, nothing changes.
   * A change is hinted to all other engines as `any`. With a text that is taken away goes the mark of the scope `schedule/<id>`. A fence that
   * does not hold answers `stale`, whichever text is there, and nothing changes.
   */
  put(request: SchedulePut): Awaitable<boolean | 'stale'>
}

export interface ScheduleList {
  /** Another one after each change. */
  readonly revision: string
  readonly schedules: readonly StoredSchedule[]
}

export interface StoredSchedule {
  readonly id: string
  readonly text: string
}

export interface SchedulePut {
  readonly id: string
  /** Absent: there is none. */
  readonly expected?: string | undefined
  /** Absent: there is to be none. */
  readonly text?: string | undefined
  /** The attempt that changes it. */
  readonly fence?: AttemptFence | undefined
  readonly by: string
}

/** The lease of an engine that has not left. */
export interface LeaseRecord {
  readonly owner: string
  /** When it ends. Absent: it has no end, see {@link TickExtras}. */
  readonly until?: number | undefined
  /** The last tick of the engine. Absent: the storage does not know, as that of an endless lease. */
  readonly heardAt?: number | undefined
  /** The name of the machine, and the number of the process there, as far as the storage knows. */
  readonly host?: string | undefined
  readonly pid?: number | undefined
  /** Another engine has noticed that the lease ended. */
  readonly isLost: boolean
}

/** How it is stored: see `RUN_FIELDS`. */
export const LEASE_FIELDS: FieldsOf<LeaseRecord> = {
  owner: { type: 'name' },
  until: { type: 'number', isOptional: true },
  isLost: { type: 'flag', column: 'lost' },
  host: { type: 'text', isOptional: true },
  pid: { type: 'count', isOptional: true },
  heardAt: { type: 'number', isOptional: true },
}

/**
 * Counts that cost little, however many records there are: each call looks at some `atMost` records of each status, and not
 * at all of them. A count is exact unless it says `isMore`. It may say so only if there are more than `atMost` records of that
 * status; with tags, only if more than `atMost` records have these tags as well. Then it is no greater than the truth.
 *
 * Nothing is written. A token past its deadline is counted as `WAITING` until a tick or a read has settled it. A status without
 * records may be absent.
 */
export interface CountStore {
  runs(filter: RunCountFilter, atMost: number): Awaitable<StatusCounts<RunStatus>>
  /** Counts tokens of the kind `MANUAL`. */
  tokens(filter: TokenCountFilter, atMost: number): Awaitable<StatusCounts<TokenStatus>>
}

export interface RunCountFilter extends Omit<RunFilter, 'notTaskIds' | 'root' | 'isRoot'> {
  readonly queue?: string | undefined
}

export type TokenCountFilter = Omit<TokenFilter, 'kind' | 'key'>

export interface StatusCount {
  readonly count: number
  /** There may be more than that. */
  readonly isMore: boolean
}

export type StatusCounts<Status extends string> = { readonly [Each in Status]?: StatusCount }

/** Optional parts of reading a token. A storage may ignore each of them. */
export interface TokenGetExtras {
  /**
   * Asks for the ids of the runs that wait for the token, at most so many, in order of id; for people. None wait for a settled
   * token. Law: `tokens.get/lists-waiters`.
   */
  readonly waiters?: number | undefined
}

/** Optional parts of a {@link TickRequest}. A storage may ignore each of them. */
export interface TickExtras {
  /**
   * Endless leases save a lonely engine its upkeep. `endless` permits a lease without an end while no other engine is
   * there: then the tick answers no `leaseUntil`. The first tick of another engine ends such a lease at its own
   * `leaseUntil` and hints `waits` to the owner. Law: `tick/endless-lease`.
   */
  readonly endless?: boolean
  /**
   * A census saves an engine one read for each run it holds. `census` asks for `held`: how many runs the owner holds. The
   * engine reads its runs one by one only if the number is not the one it expects. Law: `tick/census`.
   */
  readonly census?: boolean
}

/** Optional parts of a {@link TickResult}. */
export interface TickResultExtras {
  /** The answer to `census`. */
  readonly held?: number | undefined
  /** The time at the storage as of this tick; see {@link StorageExtras}. */
  readonly time?: number | undefined
}

/** An optional part of a hint of ready waits. */
export interface WaitsHintExtras {
  /**
   * Named runs save a tick for each run that wakes up. `runIds` names all runs whose waits became ready: the engine resumes
   * them and does not tick. A storage that names runs must answer `isHinted`. Law: `subscribe/names-runs-that-answer`.
   */
  readonly runIds?: readonly string[] | undefined
}

/** An optional part of a hint that a run changed. */
export interface RunHintExtras {
  /**
   * Saves a read to a reader that waits for the end of the run: the change that is told has not ended it. Law:
   * `subscribe/tells-an-end`.
   */
  readonly goesOn?: boolean | undefined
  /**
   * The run is new, which matters to readers of lists alone. `'one of many'`: others are new that no hint names, so that those readers
   * read all runs.
   */
  readonly isNew?: boolean | 'one of many' | undefined
}

/** The optional part of a {@link RunClaimed}. A storage with `queues` must answer it. */
export interface ClaimedExtras {
  /** Runs may have been left because their queue is full, or too many suspects execute: the next slot that is given back is worth a claim. */
  readonly isHeldBack?: boolean | undefined
  /** Runs were left because of a rate: a claim at this instant finds one, unless another claim was first. A storage with `rates` must answer it. */
  readonly nextStartAt?: number | undefined
}

/** The optional part of a {@link RunResume}. */
export interface ResumeExtras {
  /**
   * Set if a hint named the run. The answer should list, as `tokens`, the settled tokens that the run waits for. Without
   * them the engine ticks to find out. Law: `subscribe/names-runs-that-answer`.
   */
  readonly isHinted?: boolean
}

// What is true of the calls, for wrappers, watchers and tests: none of them lists calls itself.

type MethodOf<Part> = {
  [Name in keyof Part & string]-?: NonNullable<Part[Name]> extends (...args: never) => unknown ? Name : never
}[keyof Part & string]

/** The parts of a storage that have calls. */
export type StoragePart = {
  [Name in keyof Storage]-?: NonNullable<Storage[Name]> extends object
    ? [MethodOf<NonNullable<Storage[Name]>>] extends [never]
      ? never
      : Name
    : never
}[keyof Storage]

/** The name of a storage call, as wrappers show it. */
export type StorageOperation =
  | Exclude<MethodOf<Storage>, 'subscribe' | 'untilLeft' | 'endedBytes'>
  | { [Part in StoragePart]: `${Part}.${MethodOf<NonNullable<Storage[Part]>>}` }[StoragePart]

export interface CallFacts {
  /** `deadlines`: it only reads, and settles what is past its deadline. `upkeep`: nothing that the code of a user could miss. */
  readonly writes: 'nothing' | 'deadlines' | 'upkeep' | 'records'
  /** The attempt that must still hold its run: `own`, the one that the request names by its epoch; `given`, its `fence` if there is one. */
  readonly fence?: 'own' | 'given'
  /** Who makes it, whichever code causes it: the `engine`, or the `run` that the request names. Absent: the code that calls. */
  readonly by?: 'engine' | 'run'
  /** Whether an engine makes it again after the storage was away: always, or never. Absent: if a run made it. */
  readonly isRepeated?: boolean
  /** Something may be due earlier after it, without a hint. */
  readonly isDueUntold?: true
}

/** Each call, with what is true of it on every storage. */
export const STORAGE_CALLS: Readonly<Record<StorageOperation, CallFacts>> = {
  open: { writes: 'upkeep', by: 'engine', isRepeated: false },
  tick: { writes: 'records', by: 'engine', isRepeated: true },
  leave: { writes: 'upkeep', by: 'engine', isRepeated: false },
  prune: { writes: 'upkeep', by: 'engine', isRepeated: true },
  time: { writes: 'nothing', isRepeated: false },
  leases: { writes: 'nothing' },
  due: { writes: 'nothing' },
  'runs.insert': { writes: 'records', fence: 'given', isDueUntold: true },
  'runs.get': { writes: 'nothing' },
  'runs.list': { writes: 'nothing' },
  'runs.waits': { writes: 'nothing' },
  'runs.asked': { writes: 'nothing', isRepeated: true },
  'runs.update': { writes: 'records', fence: 'own', by: 'run', isDueUntold: true },
  'runs.claim': { writes: 'records', by: 'engine', isRepeated: true },
  'runs.park': { writes: 'records', fence: 'own', by: 'run', isRepeated: true },
  'runs.resume': { writes: 'records', fence: 'own', by: 'run', isRepeated: true },
  'runs.marks': { writes: 'nothing' },
  'runs.freeKey': { writes: 'records', fence: 'given' },
  'tokens.insert': { writes: 'records', fence: 'given', isDueUntold: true },
  'tokens.get': { writes: 'deadlines' },
  'tokens.list': { writes: 'deadlines' },
  'tokens.await': { writes: 'records', fence: 'own', by: 'run' },
  'tokens.settle': { writes: 'records', fence: 'given' },
  'tokens.change': { writes: 'records', fence: 'given', isDueUntold: true },
  'tokens.release': { writes: 'records', isRepeated: true },
  'chunks.open': { writes: 'records', fence: 'own', by: 'run' },
  'chunks.append': { writes: 'records', fence: 'own', by: 'run', isRepeated: true },
  'chunks.add': { writes: 'records', fence: 'given', by: 'run', isRepeated: true },
  'chunks.read': { writes: 'nothing' },
  'settings.getOrInsert': { writes: 'records', by: 'engine', isRepeated: false },
  'counts.runs': { writes: 'nothing' },
  'counts.tokens': { writes: 'nothing' },
  'queues.get': { writes: 'nothing' },
  'queues.list': { writes: 'nothing' },
  'queues.set': { writes: 'records', fence: 'given' },
  'schedules.get': { writes: 'nothing' },
  'schedules.list': { writes: 'nothing', by: 'engine' },
  'schedules.put': { writes: 'records', fence: 'given' },
}
