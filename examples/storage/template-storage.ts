import type {
  AttemptFence,
  ChunkStore,
  CountStore,
  Hint,
  LeaseRecord,
  NextDue,
  Page,
  PageRequest,
  RunClaim,
  RunFilter,
  RunRecord,
  RunStore,
  RunUpdated,
  SettingStore,
  StatusCount,
  StatusCounts,
  Storage,
  StreamRecord,
  TickRequest,
  TickResult,
  TokenRecord,
  TokenStore,
  WaitRecord,
  WriterProgress,
} from 'waitpoint/storage'

/* A storage to copy. Every record is JSON text under an id, every method is asynchronous, and each method is atomic:
it awaits nothing between its first and its last line. On a database, put each method into a transaction, and
replace the scans by queries. */

/** One table. Texts keep the order of insertion. */
class Table<Row extends object> {
  readonly #texts = new Map<string | undefined, string>()

  get(id: string | undefined): Row | undefined {
    const text = this.#texts.get(id)
    return text === undefined ? undefined : (JSON.parse(text) as Row)
  }

  put(id: string, row: Row): Row {
    this.#texts.set(id, JSON.stringify(row))
    return row
  }

  delete(id: string): void {
    this.#texts.delete(id)
  }

  deleteWhere(matches: (row: Row) => boolean): void {
    for (const [id, text] of this.#texts) if (matches(JSON.parse(text) as Row)) this.#texts.delete(id)
  }

  where(matches: (row: Row) => boolean): Row[] {
    return Array.from(this.#texts.values(), (text) => JSON.parse(text) as Row).filter(matches)
  }
}

type Wait = WaitRecord & { readonly isReady?: true }

type Writer = WriterProgress & { readonly runId: string; readonly key: string }

interface Lease {
  readonly owner: string
  readonly until: number
  readonly isLost: boolean
  /** How many runs executed when it was lost. */
  readonly executing?: number
  /** The number of the last claim. */
  readonly claim?: number
}

/** The data that outlives the process. */
export class TemplateDatabase {
  readonly runs: Table<RunRecord> = new Table()
  readonly tokens: Table<TokenRecord> = new Table()
  readonly waits: Table<Wait> = new Table()
  readonly leases: Table<Lease> = new Table()
  /** Parked runs that were refused a slot. */
  readonly refused: Table<{ readonly id: string }> = new Table()
  readonly streams: Table<StreamRecord> = new Table()
  readonly chunks: Table<{ readonly runId: string; readonly text: string }> = new Table()
  /** How far writers outside of a run have got in a stream. */
  readonly writers: Table<Writer> = new Table()
  readonly settings: Table<{ readonly value: string }> = new Table()
  /** How far schedules have got, by the scopes of their keys. */
  readonly marks: Table<{ readonly mark: number }> = new Table()
  /** When runs of a queue with a rate have started, by lane. */
  readonly starts: Table<{ readonly instants: readonly number[] }> = new Table()
}

export class TemplateStorage implements Storage {
  readonly #db: TemplateDatabase
  readonly #listeners = new Set<{ readonly owner: string; readonly hear: (hint: Hint) => void }>()

  constructor(database: TemplateDatabase = new TemplateDatabase()) {
    this.#db = database
  }

  async open(): Promise<void> {
    // Connect and migrate here.
  }

  readonly runs: RunStore = {
    insert: async ({ record, fence, instead, mark, now, by }) => {
      if (this.#isStale(fence, by)) return 'stale'
      if (mark !== undefined && record.key !== undefined) this.#raiseMark(record.key.scope, mark)
      // A key with a mark holds for as long as its run is kept.
      const holder = holderOf(this.#db.runs, record, mark === undefined ? now : -Infinity)
      if (holder !== undefined && holder.id !== instead) return { record: holder, isCached: true }
      if (this.#db.runs.get(record.id) !== undefined)
        throw new Error(`Cannot insert run "${record.id}": its id is taken`)
      this.#hint(by, { topic: 'queue' })
      return { record: this.#db.runs.put(record.id, record), isCached: false }
    },
    marks: async (scopes) => scopes.map((scope) => this.#db.marks.get(scope)?.mark),
    // Under the lock of the key, which inserts of the key take too.
    freeKey: async ({ key, fence, by, now }) => {
      if (this.#isStale(fence, by)) return 'stale'
      const run = this.#db.runs.where((row) => isSameKey(key, row.key)).at(-1)
      if (run?.key === undefined) return undefined
      const isFreed = now < (run.key.expiresAt ?? Infinity)
      // Not at `now`: the clock of the next engine may be behind.
      const freed = { ...run.key, expiresAt: Math.min(run.createdAt, now) }
      if (isFreed) this.#db.runs.put(run.id, { ...run, key: freed })
      return { runId: run.id, isFreed }
    },
    get: async (id, among) => {
      const run = this.#db.runs.get(id)
      if (run === undefined || among === undefined) return run
      // On a database, a condition of the query: the record of any other run is not read.
      const { taskIds, tags } = among
      const isTagged = tags === 'any' ? run.tags.length > 0 : run.tags.some((tag) => tags.includes(tag))
      return isTagged || taskIds.includes(run.taskId) ? run : undefined
    },
    list: async (filter, page) => pageOf(this.#db.runs.where(isListed(filter)), page),
    waits: async (id) => {
      const waits = this.#db.waits.where((wait) => wait.runId === id && !wait.isReady)
      return waits.flatMap(({ tokenId }) => this.#token(tokenId) ?? [])
    },
    asked: async (id) => {
      const run = this.#db.runs.get(id)
      const tokens = this.#db.tokens.where((token) => token.runId === id && isOwnKey(token.key, id))
      const runs = this.#db.runs.where((child) => isOwnKey(child.key, id))
      return run === undefined
        ? { tokens: [], runs: [] }
        : { tokens: tokens.sort(byAge), runs: runs.sort(byAge) }
    },
    update: async ({ id, expected, change, by, now }) => {
      const run = this.#db.runs.get(id)
      if (run === undefined || !expected.status.includes(run.status)) return undefined
      if (expected.epoch !== undefined && expected.epoch !== run.epoch) return undefined
      const status = change.status ?? run.status
      if (isFinal(run) && status !== run.status) return undefined
      if (isFinal({ status }) && !isFinal(run)) return this.#finish(run, { change, by, now })

      const slot = run.slot && (change.slot ?? true)
      const slotUntil = slot ? (change.slotUntil ?? run.slotUntil) : undefined
      // It goes on by a claim, and any engine may make it.
      const isHandedBack = 'owner' in change
      if (isFinal({ status }) || (isAttempted({ status }) && !isHandedBack)) {
        return { record: this.#write(run, { ...change, slot, slotUntil }, { by, now }), ready: [] }
      }
      if (!isAttempted({ status })) this.#dropWaits((wait) => wait.runId === id)
      const free = { owner: undefined, slot: false }
      return { record: this.#write(run, { ...change, ...free }, { by, now }), ready: [] }
    },
    claim: async (claim) => {
      const { by, now, number } = claim
      this.#expireLeases(now)
      const lease = this.#db.leases.get(by)
      if (lease === undefined || lease.isLost) return { runs: [], ended: [] }
      if (number <= (lease.claim ?? 0)) return { runs: [], ended: [] }
      this.#db.leases.put(by, { ...lease, claim: number })
      // A muster.
      if (claim.limit === 0) {
        const held = this.#db.runs.where(({ owner, status }) => owner === by && status === 'EXECUTING')
        return { runs: held, ended: [] }
      }
      const ended = this.#sweep(Infinity, { by, now })
      const runs: RunRecord[] = []
      const left = new Set<string>()
      let { suspects = 0 } = claim
      let isHeldBack = false
      let isTrialDue = false
      // The deaths in a row of a run that is executed alone.
      const trialAt = Math.max(4, claim.maxInterruptions)
      while (runs.length < claim.limit) {
        const claimable = this.#claimable(claim).filter(({ id }) => !left.has(id))
        const run = claimable.find((one) => this.#startAt(one, claim) <= now)
        if (run === undefined) break
        const interruptions = deathsOf(run)
        const diedAlone = this.#db.leases.get(run.owner)?.executing === 1
        const isCrashed = interruptions > claim.maxInterruptions && diedAlone
        const isTried = isSuspect(run) && interruptions >= trialAt
        const isFull = isSuspect(run) && suspects >= 2 ** (trialAt - interruptions)
        if (!isCrashed && (claim.isTrial === true ? !isTried : isTried || isFull)) {
          left.add(run.id)
          if (isTried) isTrialDue = true
          else if (isSuspect(run)) isHeldBack = true
          continue
        }
        // Runs that are none come after all suspects.
        if (!isCrashed) suspects += 1
        // A new epoch, so that a slow attempt does not mistake this end for its own.
        const epoch = run.epoch + 1
        if (run.returned) ended.push(this.#finish(run, { change: { status: 'COMPLETED', epoch }, by, now }))
        else if (isCrashed)
          ended.push(
            this.#finish({ ...run, interruptions }, { change: { status: 'CRASHED', epoch }, by, now }),
          )
        else runs.push(this.#start({ ...run, interruptions }, claim))
      }
      const later = this.#claimable(claim).map((run) => this.#startAt(run, claim))
      const nextStartAt = Math.min(...later.filter((at) => at > now))
      const waiting = { isHeldBack: isHeldBack || undefined, isTrialDue: isTrialDue || undefined }
      const answer = { runs, ended, ...waiting }
      return nextStartAt === Infinity ? answer : { ...answer, nextStartAt }
    },
    park: async (fence) => {
      const run = this.#fenced(fence)
      const { status, parks = 0 } = run ?? {}
      // Stored before: its answer was lost.
      if (status === 'WAITING' && parks === fence.parks) return run
      if (run === undefined || status === 'WAITING' || parks + 1 !== fence.parks) return undefined
      return this.#write(run, { status: 'WAITING', slot: false, interruptions: 0, parks: fence.parks }, fence)
    },
    resume: async ({ queueLimit = Infinity, ...fence }) => {
      const run = this.#fenced(fence)
      if (run === undefined || run.parks !== fence.parks) return { outcome: 'stale' }
      if (run.status === 'EXECUTING') return { outcome: 'resumed', record: run }
      if (this.#slots(run) >= queueLimit) {
        this.#db.refused.put(run.id, { id: run.id })
        return { outcome: 'full' }
      }
      return { outcome: 'resumed', record: this.#write(run, { status: 'EXECUTING', slot: true }, fence) }
    },
  }

  /** Optional: claims keep to the rates of queues. */
  readonly rates: boolean = true

  /** Optional. On a database, look at no more than about `atMost` rows of an index for each status. */
  readonly counts: CountStore = {
    runs: async ({ queue, ...filter }) => {
      const runs = this.#db.runs.where(isListed(filter))
      return countsOf(runs.filter((run) => queue === undefined || run.queue === queue))
    },
    tokens: async ({ status, tags, from = -Infinity, to = Infinity }) => {
      const isCounted = (token: TokenRecord): boolean =>
        token.kind === 'MANUAL' &&
        (status?.includes(token.status) ?? true) &&
        (tags?.some((tag) => token.tags.includes(tag)) ?? true) &&
        token.createdAt >= from &&
        token.createdAt <= to
      return countsOf(this.#db.tokens.where(isCounted))
    },
  }

  /** Optional. */
  readonly leases = async (): Promise<readonly LeaseRecord[]> => {
    const all = this.#db.leases.where(() => true)
    return all.map(({ owner, until, isLost }) => ({ owner, until, isLost }))
  }

  readonly tokens: TokenStore = {
    insert: async ({ record, fence, now, by }) => {
      if (this.#isStale(fence, by)) return 'stale'
      const holder = holderOf(this.#db.tokens, record, now)
      if (holder !== undefined) {
        const settledNow = this.#settleIfDue(holder.id, { now }) !== undefined
        return { record: this.#db.tokens.get(holder.id) ?? holder, isCached: true, settledNow }
      }
      if (this.#db.tokens.get(record.id) !== undefined)
        throw new Error(`Cannot insert token "${record.id}": its id is taken`)
      return { record: this.#db.tokens.put(record.id, record), isCached: false }
    },
    get: async (id, now, extras) => {
      const settledNow = this.#settleIfDue(id, { now }) !== undefined
      const record = this.#token(id)
      const read = record && { record, settledNow }
      if (read === undefined || extras?.waiters === undefined) return read
      // Optional.
      const waiting = this.#db.waits.where((wait) => wait.tokenId === id && !wait.isReady)
      const ids = waiting.map(({ runId }) => runId).sort()
      return { ...read, waiters: ids.slice(0, extras.waiters) }
    },
    list: async ({ kind, status, tags, key, from = -Infinity, to = Infinity }, page, now) => {
      const matches = (token: TokenRecord): boolean =>
        token.kind === kind &&
        (tags?.some((tag) => token.tags.includes(tag)) ?? true) &&
        (key === undefined || isSameKey(key, token.key)) &&
        token.createdAt >= from &&
        token.createdAt <= to
      const ids = this.#db.tokens.where(matches).map(({ id }) => id)
      const settled = ids.filter((id) => this.#settleIfDue(id, { now }) !== undefined)
      const rows = this.#db.tokens.where((token) => ids.includes(token.id))
      const wanted = rows.filter((token) => status?.includes(token.status) ?? true)
      return { ...pageOf(wanted, page), settled: rows.filter(({ id }) => settled.includes(id)) }
    },
    await: async ({ tokenId, runId, epoch, by, now }) => {
      const run = this.#fenced({ id: runId, epoch, by })
      if (run === undefined) return { outcome: 'stale' }
      const settledNow = this.#settleIfDue(tokenId, { now }) !== undefined
      const token = this.#token(tokenId)
      if (token === undefined) return { outcome: 'unknown' }
      if (token.status !== 'WAITING') return { outcome: 'settled', token, settledNow }
      // A run that waits for it already keeps its place in the order of registration.
      this.#db.waits.put(idOf(runId, tokenId), { tokenId, runId, owner: by })
      return { outcome: 'registered', token }
    },
    settle: async ({ id, outputJson, question, answeredJson, fence, by, now }) => {
      if (this.#isStale(fence, by)) return 'stale'
      const late = this.#settleIfDue(id, { now, by })
      const record = this.#db.tokens.get(id)
      if (record === undefined) return undefined
      if (record.status !== 'WAITING' || record.questionJson !== question)
        return { record, won: false, settledNow: late !== undefined, ready: late ?? [] }
      const answer = { outputJson, answeredJson, completedAt: now }
      const completed = { ...record, status: 'COMPLETED', ...answer } as const
      return { record: completed, won: true, settledNow: true, ready: this.#settle(completed, by) }
    },
    change: async ({ id, question, questionJson, timeoutAt, fence, by, now }) => {
      if (this.#isStale(fence, by)) return 'stale'
      const settledNow = this.#settleIfDue(id, { now }) !== undefined
      const record = this.#db.tokens.get(id)
      if (record === undefined) return undefined
      if (record.status !== 'WAITING' || record.questionJson !== question)
        return { record, changed: false, settledNow }
      this.#hint(by, { topic: 'any' })
      const change = {
        questionJson: questionJson ?? record.questionJson,
        timeoutAt: timeoutAt ?? record.timeoutAt,
      }
      return { record: this.#db.tokens.put(id, { ...record, ...change }), changed: true, settledNow }
    },
    release: async (waits) => {
      for (const { tokenId, runId, owner } of waits) {
        const run = this.#db.runs.get(runId)
        if (run?.status === 'WAITING' && !this.#isHeld(run)) continue
        this.#dropWaits((wait) => wait.tokenId === tokenId && wait.runId === runId && wait.owner === owner)
      }
    },
  }

  readonly chunks: ChunkStore = {
    open: async ({ runId, key, epoch, attempt, by, now }) => {
      const run = this.#fenced({ id: runId, epoch, by })
      if (run === undefined) return undefined
      const stored = this.#db.streams.get(idOf(runId, key))
      if (stored === undefined) this.#write(run, { streams: [...run.streams, key] }, { by, now })
      const stream = stored ?? { runId, key, first: 0, next: 0, segments: [] }
      if (stream.segments.at(-1)?.attempt === attempt) return stream
      this.#hint(by, { topic: 'stream', runId, key })
      const segments = [...stream.segments, { attempt, first: stream.next }]
      return this.#db.streams.put(idOf(runId, key), { ...stream, segments })
    },
    append: async ({ runId, key, epoch, first, chunks, end, written = [], by }) => {
      const run = this.#fenced({ id: runId, epoch, by })
      if (run === undefined) return 'stale'
      const stream = this.#db.streams.get(idOf(runId, key))
      const segment = stream?.segments.at(-1)
      if (
        stream === undefined ||
        segment?.attempt !== run.attempt ||
        first < segment.first ||
        first > stream.next
      )
        throw new Error(`Cannot append chunk ${first} to stream "${key}" of run "${runId}"`)
      const known = chunks.slice(0, stream.next - first)
      if (known.some(({ text }, at) => this.#chunk(stream, first + at) !== text))
        throw new Error(
          `Cannot append chunk ${first} to stream "${key}" of run "${runId}": different values are stored`,
        )
      const fresh = chunks.slice(known.length)
      for (const [at, { text }] of fresh.entries())
        this.#db.chunks.put(idOf(runId, key, stream.next + at), { runId, text })
      const last = { ...segment, end: end ?? (fresh.length > 0 ? undefined : segment.end) }
      const segments = [...stream.segments.slice(0, -1), last]
      this.#db.streams.put(idOf(runId, key), { ...stream, next: stream.next + fresh.length, segments })
      for (const progress of written) this.#noteWriter({ ...progress, runId, key })
      this.#hint(by, { topic: 'stream', runId, key })
      return 'appended'
    },
    read: async ({ runId, key, from, limit, writer }) => {
      const stream = this.#db.streams.get(idOf(runId, key))
      if (stream === undefined) return undefined
      const length = Math.min(limit, stream.next - from)
      const texts = Array.from({ length }, (_, at) => this.#chunk(stream, from + at))
      const chunks = texts.map((text) => ({ value: JSON.parse(text) as unknown, text, bytes: text.length }))
      const written = this.#db.writers.get(idOf(runId, key, writer ?? ''))?.last
      return { stream, first: from, chunks, written }
    },
  }

  readonly settings: SettingStore = {
    getOrInsert: async (name, value) =>
      (this.#db.settings.get(name) ?? this.#db.settings.put(name, { value })).value,
  }

  async tick({ owner, leaseUntil, now, limit }: TickRequest): Promise<TickResult> {
    this.#expireLeases(now)
    const lease = this.#db.leases.get(owner)
    if (lease?.isLost === true) return { alive: false, ready: [], settled: [], expired: [], claimable: false }
    this.#db.leases.put(owner, { ...lease, owner, until: leaseUntil, isLost: false })

    const due = this.#db.tokens.where((token) => isDue(token, now)).slice(0, limit)
    for (const { id } of due) this.#settleIfDue(id, { now, by: owner })
    const expired = this.#sweep(limit - due.length, { by: owner, now })
    const isOurs = (id: string): boolean => this.#db.runs.get(id)?.owner === owner
    const ready = this.#db.waits.where((wait) => wait.isReady === true && isOurs(wait.runId))
    return {
      alive: true,
      ready: ready.map(({ tokenId, runId }) => ({ tokenId, runId, owner })),
      settled: due.flatMap(({ id }) => this.#db.tokens.get(id) ?? []),
      expired,
      claimable: this.#claimable({ now, queueLimits: new Map() }).length > 0,
      nextDue: this.#nextDue(now),
      nextLease: this.#nextLease(owner),
      leaseUntil,
    }
  }

  subscribe(owner: string, hear: (hint: Hint) => void): () => void {
    const listener = { owner, hear }
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async leave({ owner, now }: { readonly owner: string; readonly now: number }): Promise<void> {
    const act = { by: owner, now }
    for (const run of this.#db.runs.where((one) => one.owner === owner))
      this.#write(run, { owner: undefined }, act)
    this.#db.leases.delete(owner)
    this.#hint(owner, { topic: 'queue' })
  }

  async prune({ before, keep = Infinity, limit, now }: Parameters<Storage['prune']>[0]): Promise<number> {
    const runs = this.#db.runs.where((run) => isFinal(run) && !run.slot)
    const tokens = this.#db.tokens.where((token) => token.status !== 'WAITING')
    const over = [...runs, ...tokens].sort((one, other) => endOf(one) - endOf(other))
    let left = over.length
    let dropped = 0
    for (const record of over) {
      if (dropped >= limit || (endOf(record) >= before && left <= keep)) break
      if (this.#isNeeded(record, now)) continue
      left -= 1
      dropped += 'taskId' in record ? this.#dropRun(record, limit - dropped) : this.#dropToken(record)
    }
    return dropped
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Release the connection here.
  }

  #raiseMark(scope: string, mark: number): void {
    this.#db.marks.put(scope, { mark: Math.max(mark, this.#db.marks.get(scope)?.mark ?? mark) })
  }

  #write(run: RunRecord, change: Partial<RunRecord>, { by, now }: Act): RunRecord {
    const record = { ...run, ...change, updatedAt: Math.max(run.updatedAt, now) }
    if (record.status !== 'WAITING') this.#db.refused.delete(run.id)
    this.#hint(by, { topic: 'run', runId: run.id })
    // It may be claimed, or its slot may be another one's now.
    if (!record.slot) this.#hint(by, { topic: 'queue' })
    return this.#db.runs.put(run.id, record)
  }

  /** When the rate of its queue lets a run start. */
  #startAt(run: RunRecord, { queueRates, now }: RunClaim): number {
    const rate = isAttempted(run) ? undefined : queueRates?.get(run.queue)
    if (rate === undefined) return now
    // Of the last so many starts the first has to be over.
    return (this.#starts(run).at(-rate.limit) ?? -Infinity) + rate.perMs
  }

  #countStart(run: RunRecord, { queueRates, now }: RunClaim): void {
    const rate = isAttempted(run) ? undefined : queueRates?.get(run.queue)
    if (rate === undefined) return
    // In the order of the claims. The last so many count, so that a clock that is set back makes no room.
    const instants = [...this.#starts(run).filter((at) => at + rate.perMs > now), now]
    this.#db.starts.put(laneOf(run), { instants })
  }

  #starts(run: RunRecord): readonly number[] {
    return this.#db.starts.get(laneOf(run))?.instants ?? []
  }

  #start(run: RunRecord, claim: RunClaim): RunRecord {
    this.#countStart(run, claim)
    const { versions, ...act } = claim
    const isPlanned = run.status === 'QUEUED' || run.status === 'DELAYED'
    const version = isPlanned ? versions?.get(run.taskId) : run.version
    this.#dropWaits((wait) => wait.runId === run.id)
    this.#interruptStreams(run)
    const raised = { attempt: run.attempt + 1, policyAttempt: run.policyAttempt + (isPlanned ? 1 : 0) }
    const held = { owner: act.by, epoch: run.epoch + 1, slot: true }
    const startedAt = run.startedAt ?? act.now
    return this.#write(
      run,
      { status: 'EXECUTING', ...raised, ...held, version, wakeAt: undefined, startedAt },
      act,
    )
  }

  #finish(run: RunRecord, { change, by, now }: Act & { readonly change: Partial<RunRecord> }): RunUpdated {
    this.#dropWaits((wait) => wait.runId === run.id)
    this.#interruptStreams(run)
    const slot = run.slot && change.slot === true
    const slotUntil = slot ? change.slotUntil : undefined
    const over = {
      owner: undefined,
      wakeAt: undefined,
      finishedAt: change.finishedAt ?? now,
      slot,
      slotUntil,
    }
    const record = this.#write(run, { ...change, ...over }, { by, now })
    return { record, ready: this.#makeReady(`run:${run.id}`, by) }
  }

  /** Expires runs that never started, and frees the slots of canceled runs. */
  #sweep(limit: number, act: Act): RunUpdated[] {
    const expired = this.#db.runs.where((run) => startBy(run) <= act.now).slice(0, limit)
    for (const run of this.#db.runs.where(({ slotUntil = Infinity }) => slotUntil <= act.now))
      this.#write(run, { slot: false, slotUntil: undefined }, act)
    return expired.map((run) =>
      this.#finish(run, { change: { status: 'EXPIRED', finishedAt: run.expiresAt }, ...act }),
    )
  }

  /** The runs that a claim would hand out, in order. */
  #claimable({
    taskIds,
    queueLimits,
    now,
  }: Pick<RunClaim, 'queueLimits' | 'now'> & Partial<RunClaim>): RunRecord[] {
    const hasSlot = (run: RunRecord): boolean => {
      if (run.slot || run.returned) return true
      const isSameLane = (id: string): boolean => laneOf(this.#db.runs.get(id)) === laneOf(run)
      const refused = isAttempted(run) ? [] : this.#db.refused.where(({ id }) => isSameLane(id))
      return this.#slots(run) + refused.length < (queueLimits.get(run.queue) ?? Infinity)
    }
    const ready = this.#db.runs.where(
      (run) => this.#isReady(run, now) && (taskIds?.includes(run.taskId) ?? true),
    )
    // Suspects come first, those with the fewest deaths before the others.
    const rank = (run: RunRecord): number =>
      isSuspect(run) ? deathsOf(run) - 1_000_000 : isAttempted(run) ? 0 : 1
    const at = (run: RunRecord): number =>
      (run.status === 'DELAYED' ? wakeAtOf(run) : run.createdAt) - (run.priorityMs ?? 0)
    return ready.filter(hasSlot).sort((one, other) => rank(one) - rank(other) || at(one) - at(other))
  }

  #isReady(run: RunRecord, now: number): boolean {
    if (run.status === 'QUEUED') return true
    if (run.status === 'DELAYED') return wakeAtOf(run) <= now
    if (!isAttempted(run) || this.#isHeld(run)) return false
    if (run.status === 'EXECUTING' || run.returned) return true
    const wakes = ({ isReady, tokenId }: Wait): boolean => isReady ?? isDue(this.#token(tokenId), now)
    return this.#db.waits.where((wait) => wait.runId === run.id).some(wakes)
  }

  #slots(run: RunRecord): number {
    return this.#db.runs.where((other) => other.slot && laneOf(other) === laneOf(run)).length
  }

  #isHeld(run: RunRecord | undefined): boolean {
    return this.#db.leases.get(run?.owner)?.isLost === false
  }

  /** The run, if this is its attempt. Only runs that execute or wait have an owner. */
  #fenced({ id, epoch, by }: { id: string; epoch: number; by: string }): RunRecord | undefined {
    const run = this.#db.runs.get(id)
    return run?.epoch === epoch && run.owner === by ? run : undefined
  }

  #isStale(fence: AttemptFence | undefined, by: string): boolean {
    return fence !== undefined && this.#fenced({ id: fence.runId, epoch: fence.epoch, by }) === undefined
  }

  #expireLeases(now: number): void {
    for (const lease of this.#db.leases.where(({ until, isLost }) => until <= now && !isLost)) {
      const isExecuting = ({ owner, status }: RunRecord): boolean =>
        owner === lease.owner && status === 'EXECUTING'
      const executing = this.#db.runs.where(isExecuting).length
      this.#db.leases.put(lease.owner, { ...lease, isLost: true, executing })
    }
    this.#db.refused.deleteWhere(({ id }) => !this.#isHeld(this.#db.runs.get(id)))
  }

  #token(id: string): TokenRecord | undefined {
    if (!id.startsWith('run:')) return this.#db.tokens.get(id)
    const run = this.#db.runs.get(id.slice('run:'.length))
    if (run === undefined) return undefined
    const status = isFinal(run) ? 'COMPLETED' : 'WAITING'
    return { id, kind: 'RUN', status, tags: [], createdAt: run.createdAt, completedAt: run.finishedAt }
  }

  /** Settles a token past its deadline. Returns the waits that became ready. */
  #settleIfDue(
    id: string,
    { now, by }: Partial<Act> & { readonly now: number },
  ): readonly WaitRecord[] | undefined {
    const token = this.#db.tokens.get(id)
    if (!isDue(token, now)) return undefined
    const status = token.kind === 'SLEEP' ? 'COMPLETED' : 'TIMED_OUT'
    return this.#settle({ ...token, status, completedAt: token.timeoutAt }, by)
  }

  #settle(token: TokenRecord, by: string | undefined): readonly WaitRecord[] {
    this.#db.tokens.put(token.id, token)
    return this.#makeReady(token.id, by)
  }

  #makeReady(token: string, by: string | undefined): readonly WaitRecord[] {
    const waits = this.#db.waits.where(({ tokenId }) => tokenId === token)
    return waits.map(({ tokenId, runId, owner }) => {
      this.#db.waits.put(idOf(runId, tokenId), { tokenId, runId, owner, isReady: true })
      this.#hint(by, { topic: 'waits' })
      return { tokenId, runId, owner }
    })
  }

  #dropWaits(matches: (wait: Wait) => boolean): void {
    this.#db.waits.deleteWhere(matches)
  }

  #chunk({ runId, key }: StreamRecord, sequence: number): string {
    return this.#db.chunks.get(idOf(runId, key, sequence))?.text ?? ''
  }

  #noteWriter(progress: Writer): void {
    const { runId, key, writer, last } = progress
    const known = this.#db.writers.get(idOf(runId, key, writer))?.last ?? last
    this.#db.writers.put(idOf(runId, key, writer), { ...progress, last: Math.max(known, last) })
  }

  #interruptStreams({ id }: RunRecord): void {
    for (const stream of this.#db.streams.where(({ runId }) => runId === id)) {
      const segments = stream.segments.map((one) => ({
        ...one,
        end: one.end ?? ({ reason: 'interrupted' } as const),
      }))
      this.#db.streams.put(idOf(id, stream.key), { ...stream, segments })
    }
  }

  #nextDue(now: number): TickResult['nextDue'] {
    const tokens = this.#db.tokens.where(({ status }) => status === 'WAITING')
    const runs = this.#db.runs.where(() => true)
    return earliest([
      ...tokens.map(({ id, timeoutAt = Infinity }) => ({ at: timeoutAt, what: `token ${id}` })),
      ...runs.flatMap((run) => {
        const wakeAt = run.status === 'DELAYED' && wakeAtOf(run) > now ? wakeAtOf(run) : Infinity
        const instants = [wakeAt, startBy(run), run.slotUntil ?? Infinity]
        return instants.map((at) => ({ at, what: `run ${run.id}` }))
      }),
    ])
  }

  #nextLease(owner: string): TickResult['nextLease'] {
    const others = this.#db.leases.where((lease) => lease.owner !== owner && !lease.isLost)
    const busy = others.filter((lease) => this.#db.runs.where((run) => run.owner === lease.owner).length > 0)
    return earliest(busy.map((lease) => ({ at: lease.until, what: `lease ${lease.owner}` })))
  }

  /** Whether an ended record may still be needed. */
  #isNeeded(record: RunRecord | TokenRecord, now: number): boolean {
    const { key } = record
    const isRun = 'taskId' in record
    const tokenId = isRun ? `run:${record.id}` : record.id
    const isWaitedFor = this.#db.waits.where((wait) => wait.tokenId === tokenId).length > 0
    if (isWaitedFor || now < (key?.expiresAt ?? -Infinity)) return true
    // A run that is executed again asks again for the children that have a key of its own.
    if (isRun)
      return (
        this.#isLive(record.rootId) ||
        (key !== undefined && isOwnKey(key, key.scope) && this.#isLive(key.scope))
      )
    // The run that a completed token of no run was completed for may be yet to come.
    if (record.runId === undefined) return record.kind === 'MANUAL' && now < (record.timeoutAt ?? -Infinity)
    return this.#isLive(record.runId) || this.#isLive(this.#db.runs.get(record.runId)?.rootId)
  }

  #isLive(id: string | undefined): boolean {
    const run = this.#db.runs.get(id)
    return run !== undefined && !isFinal(run)
  }

  /** Drops a run after its own tokens, if the budget allows. Returns the number of dropped records. */
  #dropRun({ id }: RunRecord, budget: number): number {
    const own = this.#db.tokens.where(({ runId, kind }) => runId === id && kind !== 'MANUAL')
    for (const token of own.slice(0, budget)) this.#db.tokens.delete(token.id)
    if (own.length >= budget) return budget
    const belongs = ({ runId }: { readonly runId: string }): boolean => runId === id
    for (const table of [this.#db.streams, this.#db.chunks, this.#db.writers]) table.deleteWhere(belongs)
    this.#db.runs.delete(id)
    return own.length + 1
  }

  #dropToken({ id }: TokenRecord): number {
    this.#db.tokens.delete(id)
    return 1
  }

  #hint(by: string | undefined, hint: Hint): void {
    for (const { owner, hear } of this.#listeners) if (owner !== by) queueMicrotask(() => hear(hint))
  }
}

interface Act {
  readonly by: string
  readonly now: number
}

function isListed({
  status,
  taskIds,
  notTaskIds,
  tags,
  from = -Infinity,
  to = Infinity,
  root,
  isRoot,
}: RunFilter): (run: RunRecord) => boolean {
  return (run) =>
    (status?.includes(run.status) ?? true) &&
    (taskIds?.includes(run.taskId) ?? true) &&
    notTaskIds?.includes(run.taskId) !== true &&
    (tags?.some((tag) => run.tags.includes(tag)) ?? true) &&
    run.createdAt >= from &&
    run.createdAt <= to &&
    (root === undefined || (run.rootId === root && run.parentId !== undefined)) &&
    (isRoot !== true || run.parentId === undefined)
}

function countsOf<Status extends string>(
  records: readonly { readonly status: Status }[],
): StatusCounts<Status> {
  const counts: { [Each in Status]?: StatusCount } = {}
  for (const { status } of records)
    counts[status] = { count: (counts[status]?.count ?? 0) + 1, isMore: false }
  return counts
}

function isAttempted({ status }: Pick<RunRecord, 'status'>): boolean {
  return status === 'EXECUTING' || status === 'WAITING'
}

/** How often in a row the process of a run without a living owner has died while it executed. */
function deathsOf({ status, owner, interruptions }: RunRecord): number {
  return status === 'EXECUTING' && owner !== undefined ? interruptions + 1 : interruptions
}

/** Of a run without a living owner, which executed with its slot if it has one. */
function isSuspect(run: RunRecord): boolean {
  return run.slot && deathsOf(run) > 0
}

function isFinal({ status }: Pick<RunRecord, 'status'>): boolean {
  return (
    !isAttempted({ status }) && status !== 'QUEUED' && status !== 'DELAYED' && status !== 'PENDING_VERSION'
  )
}

/** The instant at which a run that never started expires. */
function startBy({ status, attempt, expiresAt = Infinity }: RunRecord): number {
  return (status === 'QUEUED' || status === 'DELAYED') && attempt === 0 ? expiresAt : Infinity
}

/** When a delayed run becomes due. */
function wakeAtOf({ wakeAt = Infinity }: RunRecord): number {
  return wakeAt
}

function isDue(token: TokenRecord | undefined, now: number): token is TokenRecord {
  return token?.status === 'WAITING' && (token.timeoutAt ?? Infinity) <= now
}

function endOf(record: RunRecord | TokenRecord): number {
  return ('taskId' in record ? record.finishedAt : record.completedAt) ?? Infinity
}

function laneOf(run: RunRecord | undefined): string {
  return idOf(run?.queue ?? '', run?.concurrencyKey ?? '')
}

function idOf(...parts: readonly (string | number)[]): string {
  return JSON.stringify(parts)
}

type Key = NonNullable<TokenRecord['key']>

function isSameKey(one: Pick<Key, 'scope' | 'value'>, other: Key | undefined): boolean {
  return one.scope === other?.scope && one.value === other.value
}

/** Whether a key is of the run's own scope and never expires. */
function isOwnKey(key: Key | undefined, runId: string): boolean {
  return key?.scope === runId && key.expiresAt === undefined
}

type Aged = Pick<RunRecord, 'id' | 'createdAt'>

function byAge(one: Aged, other: Aged): number {
  return one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1)
}

/** The holder of the record's key at `now`: the last record stored with the key, until the key expires. */
function holderOf<Row extends RunRecord | TokenRecord>(
  table: Table<Row>,
  { key }: Row,
  now: number,
): Row | undefined {
  if (key === undefined) return undefined
  const holder = table.where((row) => isSameKey(key, row.key)).at(-1)
  return now < (holder?.key?.expiresAt ?? Infinity) ? holder : undefined
}

function earliest(dues: readonly NextDue[]): NextDue | undefined {
  return dues.filter(({ at }) => at < Infinity).sort((one, other) => one.at - other.at)[0]
}

/** One page of `rows`, newest first. */
function pageOf<Row extends { readonly id: string }>(
  rows: readonly Row[],
  { limit, after, before }: PageRequest,
): Page<Row> {
  const sorted = [...rows].sort((one, other) => (one.id < other.id ? 1 : -1))
  const older = after === undefined ? sorted : sorted.filter(({ id }) => id < after)
  const records =
    before === undefined ? older.slice(0, limit) : sorted.filter(({ id }) => id > before).slice(-limit)
  const [first, last] = [records[0], records.at(-1)]
  return {
    records,
    next: last && sorted.at(-1) !== last ? last.id : undefined,
    previous: first && sorted[0] !== first ? first.id : undefined,
  }
}
