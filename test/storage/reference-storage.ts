import type { RunChange, RunRecord, TokenRecord, WaitRecord } from '../../src/contract/records.ts'
import { isFinal } from '../../src/contract/run-states.ts'
import type {
  RunClaim,
  RunFence,
  RunUpdated,
  TickRequest,
  TokenChange,
  TokenSettle,
} from '../../src/contract/storage.ts'

type Settling = Pick<TokenSettle, 'id' | 'question' | 'answeredJson' | 'now'>

interface ReferenceWait extends WaitRecord {
  isReady: boolean
}

interface ReferenceTick {
  readonly alive: boolean
  readonly ready: readonly WaitRecord[]
  readonly settled: readonly TokenRecord[]
  readonly expired: readonly RunUpdated[]
}

interface ReferenceClaim {
  readonly runs: RunRecord[]
  readonly ended: RunUpdated[]
  readonly isTrialDue: boolean
}

/**
 * What a storage answers, written to be read: plain collections, and every question answered by looking at everything.
 * Instants at which runs become ready are assumed to be distinct.
 */
export class ReferenceStorage {
  readonly runs: Map<string, RunRecord> = new Map()
  readonly tokens: Map<string, TokenRecord> = new Map()
  readonly leases: Map<string, { until: number; isLost: boolean; executing?: number }> = new Map()
  /** The last claim of each owner, and what it handed out. */
  readonly claims: Map<string, number> = new Map()
  waits: ReferenceWait[] = []
  /** Parked runs that were refused a slot. */
  readonly refused: Set<string> = new Set()

  isFinal(id: string): boolean {
    return isFinal(this.run(id).status)
  }

  run(id: string): RunRecord {
    const record = this.runs.get(id)
    if (record === undefined) throw new Error(`no run ${id}`)
    return record
  }

  write(id: string, change: Partial<RunRecord>, now: number): RunRecord {
    const record = { ...this.run(id), ...change }
    record.updatedAt = Math.max(record.updatedAt, now)
    this.runs.set(id, record)
    if (record.status !== 'WAITING') this.refused.delete(id)
    return record
  }

  tick({ owner, leaseUntil, now }: TickRequest): ReferenceTick {
    this.#loseLeases(now)
    if (this.leases.get(owner)?.isLost === true) {
      return { alive: false, ready: [], settled: [], expired: [] }
    }
    this.leases.set(owner, { until: leaseUntil, isLost: false })
    const settled = [...this.tokens.values()].filter((token) => this.#isDue(token, now))
    for (const token of settled) this.readToken(token.id, now)
    const expired = this.#sweepRuns(now)
    const ready = this.waits.filter(
      (wait) => wait.isReady && wait.owner === owner && this.#isHeldBy(wait, owner),
    )
    return {
      alive: true,
      ready: ready.map(plain),
      settled: settled.map((token) => this.token(token.id)),
      expired,
    }
  }

  /** All instants at which a tick of `owner` would find something. */
  dueInstants(owner: string): number[] {
    const tokens = [...this.tokens.values()].filter((token) => token.status === 'WAITING')
    const runs = [...this.runs.values()].flatMap((run) => [
      run.status === 'DELAYED' ? run.wakeAt : undefined,
      (run.status === 'DELAYED' || run.status === 'QUEUED') && run.attempt === 0 ? run.expiresAt : undefined,
      isFinal(run.status) && run.slot ? run.slotUntil : undefined,
    ])
    const leases = [...this.leases].map(([other, { until, isLost }]) =>
      other !== owner && !isLost && this.#runsOf(other).length > 0 ? until : undefined,
    )
    const instants = [...tokens.map((token) => token.timeoutAt), ...runs, ...leases]
    return instants.filter((at) => at !== undefined)
  }

  leave(owner: string, now: number): void {
    for (const run of this.#runsOf(owner)) this.write(run.id, { owner: undefined }, now)
    this.leases.delete(owner)
    this.claims.delete(owner)
  }

  claim(claim: RunClaim): ReferenceClaim {
    this.#loseLeases(claim.now)
    if (!this.#isAlive(claim.by)) return { runs: [], ended: [], isTrialDue: false }
    if (claim.number <= (this.claims.get(claim.by) ?? 0)) return { runs: [], ended: [], isTrialDue: false }
    this.claims.set(claim.by, claim.number)
    if (claim.limit > 0) return this.#claimAnew(claim)
    const held = [...this.runs.values()].filter(
      ({ owner, status }) => owner === claim.by && status === 'EXECUTING',
    )
    return { runs: held, ended: [], isTrialDue: false }
  }

  #claimAnew(claim: RunClaim): ReferenceClaim {
    const ended = this.#sweepRuns(claim.now)
    const runs: RunRecord[] = []
    const left = new Map<string, RunRecord>()
    const deathsOfTried = Math.max(4, claim.maxInterruptions)
    const isTried = (run: RunRecord): boolean => isSuspect(run) && deathsOf(run) >= deathsOfTried
    let { suspects = 0 } = claim
    while (runs.length < claim.limit) {
      const run = this.claimable(claim).find(({ id }) => !left.has(id))
      if (run === undefined) break
      const interruptions = deathsOf(run)
      const isGuilty = this.#diedAlone(run) && interruptions > claim.maxInterruptions
      const isFull = isSuspect(run) && suspects >= 2 ** (deathsOfTried - interruptions)
      const isLeft = claim.isTrial === true ? !isTried(run) : isTried(run) || isFull
      if (isLeft && !isGuilty) {
        left.set(run.id, run)
        continue
      }
      if (isSuspect(run)) suspects += 1
      const isPlanned = run.status === 'QUEUED' || run.status === 'DELAYED'
      if (run.returned)
        ended.push(this.finish(run.id, { status: 'COMPLETED', epoch: run.epoch + 1 }, claim.now))
      else if (isGuilty) {
        const end = { status: 'CRASHED', interruptions, epoch: run.epoch + 1 } as const
        ended.push(this.finish(run.id, end, claim.now))
      } else {
        this.waits = this.waits.filter((wait) => wait.runId !== run.id)
        const change: Partial<RunRecord> = {
          status: 'EXECUTING',
          attempt: run.attempt + 1,
          policyAttempt: run.policyAttempt + (isPlanned ? 1 : 0),
          version: isPlanned ? claim.versions?.get(run.taskId) : run.version,
          interruptions,
          owner: claim.by,
          epoch: run.epoch + 1,
          slot: true,
          wakeAt: undefined,
          startedAt: run.startedAt ?? Math.max(run.createdAt, claim.now),
        }
        runs.push(this.write(run.id, change, claim.now))
      }
    }
    return { runs, ended, isTrialDue: [...left.values()].some(isTried) }
  }

  #diedAlone(run: RunRecord): boolean {
    return isSuspect(run) && this.leases.get(run.owner ?? '')?.executing === 1
  }

  /** What a claim would hand out now, in order. */
  claimable({ taskIds, queueLimits, now }: Pick<RunClaim, 'taskIds' | 'queueLimits' | 'now'>): RunRecord[] {
    const hasSlot = (run: RunRecord): boolean => {
      if (run.slot || run.returned) return true
      const isQueued = run.status === 'QUEUED' || run.status === 'DELAYED'
      const taken = this.slots(run) + (isQueued ? this.#refusedIn(run).length : 0)
      return taken < (queueLimits.get(run.queue) ?? Infinity)
    }
    const ready = [...this.runs.values()].filter(
      (run) => taskIds.includes(run.taskId) && this.isReady(run, now),
    )
    return ready
      .filter(hasSlot)
      .sort((one, other) => rankOf(one) - rankOf(other) || readyAt(one) - readyAt(other))
  }

  isReady(run: RunRecord, now: number): boolean {
    const isOrphan = run.owner === undefined || !this.#isAlive(run.owner)
    switch (run.status) {
      case 'QUEUED':
        return true
      case 'DELAYED':
        return (run.wakeAt ?? 0) <= now
      case 'EXECUTING':
        return isOrphan
      case 'WAITING':
        return (
          isOrphan &&
          (run.returned ||
            this.waits.some((wait) => wait.runId === run.id && (wait.isReady || this.#isOver(wait, now))))
        )
      default:
        return false
    }
  }

  slots(run: Pick<RunRecord, 'queue' | 'concurrencyKey'>): number {
    return [...this.runs.values()].filter((other) => isSameLane(run, other) && other.slot).length
  }

  finish(id: string, change: RunChange & Partial<RunRecord>, now: number): RunUpdated {
    const run = this.run(id)
    const slot = run.slot && (change.slot ?? false)
    const finishedAt = Math.max(change.finishedAt ?? now, run.startedAt ?? run.createdAt)
    this.waits = this.waits.filter((wait) => wait.runId !== id)
    const record = this.write(
      id,
      {
        ...change,
        owner: undefined,
        wakeAt: undefined,
        slot,
        slotUntil: slot ? change.slotUntil : undefined,
        finishedAt,
      },
      Math.max(now, finishedAt),
    )
    return { record, ready: this.#makeReady(`run:${id}`) }
  }

  /** The run, when the attempt with this epoch and owner still holds it. */
  fenced({ id, epoch, by }: Pick<RunFence, 'id' | 'epoch' | 'by'>): RunRecord | undefined {
    const run = this.run(id)
    const isAttempted = run.status === 'EXECUTING' || run.status === 'WAITING'
    return isAttempted && run.epoch === epoch && run.owner === by ? run : undefined
  }

  /** Parks the run, unless it is in this park. */
  park(fence: RunFence): RunRecord | undefined {
    const run = this.fenced(fence)
    if (run === undefined) return undefined
    const isParked = run.status === 'WAITING'
    if (fence.parks !== (run.parks ?? 0) + (isParked ? 0 : 1)) return undefined
    const change = { status: 'WAITING', slot: false, interruptions: 0, parks: fence.parks } as const
    if (!isParked) this.write(run.id, change, fence.now)
    return this.run(run.id)
  }

  resume(fence: RunFence, limit: number): 'resumed' | 'full' | 'stale' {
    const run = this.fenced(fence)
    if (run === undefined || run.parks !== fence.parks) return 'stale'
    if (run.status === 'EXECUTING') return 'resumed'
    if (this.slots(run) >= limit) {
      if (this.#isAlive(fence.by)) this.refused.add(run.id)
      return 'full'
    }
    this.write(run.id, { status: 'EXECUTING', slot: true }, fence.now)
    return 'resumed'
  }

  await(fence: RunFence, tokenId: string): 'settled' | 'registered' | 'stale' {
    if (this.fenced(fence) === undefined) return 'stale'
    if (
      tokenId.startsWith('run:')
        ? this.isFinal(tokenId.slice(4))
        : this.readToken(tokenId, fence.now).status !== 'WAITING'
    ) {
      return 'settled'
    }
    const isKnown = this.waits.some((wait) => wait.tokenId === tokenId && wait.runId === fence.id)
    if (!isKnown) this.waits.push({ tokenId, runId: fence.id, owner: fence.by, isReady: false })
    return 'registered'
  }

  /** Whether a write that carries this fence is refused. */
  isRefused(fence: RunFence | undefined): boolean {
    return fence !== undefined && this.fenced(fence) === undefined
  }

  settle(request: Settling): { won: boolean; settledNow: boolean; ready: readonly WaitRecord[] } {
    const { id, question, now } = request
    const token = this.token(id)
    if (token.status !== 'WAITING') return { won: false, settledNow: false, ready: [] }
    const won = !this.#isDue(token, now)
    if (won && token.questionJson !== question) return { won: false, settledNow: false, ready: [] }
    this.tokens.set(id, won ? completed(token, request) : timedOut(token))
    return { won, settledNow: true, ready: this.#makeReady(id) }
  }

  change({ id, question, questionJson, timeoutAt, now }: TokenChange): boolean {
    const token = this.readToken(id, now)
    if (token.status !== 'WAITING' || token.questionJson !== question) return false
    this.tokens.set(id, {
      ...token,
      questionJson: questionJson ?? token.questionJson,
      timeoutAt: timeoutAt ?? token.timeoutAt,
    })
    return true
  }

  token(id: string): TokenRecord {
    const token = this.tokens.get(id)
    if (token === undefined) throw new Error(`no token ${id}`)
    return token
  }

  readToken(id: string, now: number): TokenRecord {
    if (this.#isDue(this.token(id), now)) this.settle({ id, now })
    return this.token(id)
  }

  release(dropped: WaitRecord): void {
    const { status, owner } = this.run(dropped.runId)
    if (status === 'WAITING' && (owner === undefined || !this.#isAlive(owner))) return
    const isDropped = (wait: WaitRecord): boolean =>
      wait.tokenId === dropped.tokenId && wait.runId === dropped.runId && wait.owner === dropped.owner
    this.waits = this.waits.filter((wait) => !isDropped(wait))
  }

  #makeReady(tokenId: string): readonly WaitRecord[] {
    const waits = this.waits.filter((wait) => wait.tokenId === tokenId && !wait.isReady)
    for (const wait of waits) wait.isReady = true
    return waits.map(plain)
  }

  #sweepRuns(now: number): RunUpdated[] {
    const ended: RunUpdated[] = []
    for (const run of [...this.runs.values()]) {
      const isUnstarted = (run.status === 'QUEUED' || run.status === 'DELAYED') && run.attempt === 0
      if (isUnstarted && run.expiresAt !== undefined && run.expiresAt <= now) {
        ended.push(this.finish(run.id, { status: 'EXPIRED', finishedAt: run.expiresAt }, now))
      }
      if (isFinal(run.status) && run.slot && run.slotUntil !== undefined && run.slotUntil <= now) {
        this.write(run.id, { slot: false, slotUntil: undefined }, now)
      }
    }
    return ended
  }

  #loseLeases(now: number): void {
    for (const [owner, lease] of this.leases) {
      if (lease.isLost || lease.until > now) continue
      lease.isLost = true
      lease.executing = this.#runsOf(owner).filter(({ status }) => status === 'EXECUTING').length
    }
    for (const id of this.refused) {
      const { owner } = this.run(id)
      if (owner === undefined || !this.#isAlive(owner)) this.refused.delete(id)
    }
  }

  #isAlive(owner: string): boolean {
    return this.leases.get(owner)?.isLost === false
  }

  #isHeldBy(wait: WaitRecord, owner: string): boolean {
    return this.run(wait.runId).owner === owner
  }

  #runsOf(owner: string): RunRecord[] {
    return [...this.runs.values()].filter((run) => run.owner === owner)
  }

  #refusedIn(run: RunRecord): string[] {
    return [...this.refused].filter((id) => isSameLane(run, this.run(id)))
  }

  #isDue({ status, timeoutAt }: TokenRecord, now: number): boolean {
    return status === 'WAITING' && timeoutAt !== undefined && timeoutAt <= now
  }

  #isOver({ tokenId }: WaitRecord, now: number): boolean {
    return tokenId.startsWith('run:') ? this.isFinal(tokenId.slice(4)) : this.#isDue(this.token(tokenId), now)
  }
}

function plain({ tokenId, runId, owner }: WaitRecord): WaitRecord {
  return { tokenId, runId, owner }
}

function completed(token: TokenRecord, { answeredJson, now }: Settling): TokenRecord {
  const completedAt = Math.max(token.createdAt, now)
  return { ...token, status: 'COMPLETED', completedAt, outputJson: '1', answeredJson }
}

function timedOut(token: TokenRecord): TokenRecord {
  const status = token.kind === 'SLEEP' ? 'COMPLETED' : 'TIMED_OUT'
  return { ...token, status, completedAt: token.timeoutAt }
}

function isSameLane(
  one: Pick<RunRecord, 'queue' | 'concurrencyKey'>,
  other: Pick<RunRecord, 'queue' | 'concurrencyKey'>,
): boolean {
  return one.queue === other.queue && one.concurrencyKey === other.concurrencyKey
}

/** Deaths of the process while the run executed, in a row. */
function deathsOf({ status, owner, interruptions }: RunRecord): number {
  return interruptions + (status === 'EXECUTING' && owner !== undefined ? 1 : 0)
}

/** Of runs that can be claimed. */
function isSuspect(run: RunRecord): boolean {
  return run.status === 'EXECUTING' && run.slot && !run.returned && deathsOf(run) > 0
}

/** Suspects come first, those with the fewest deaths before the others, then runs that go on, then those that start. */
function rankOf(run: RunRecord): number {
  if (isSuspect(run)) return deathsOf(run) - 1_000_000
  return run.status === 'EXECUTING' || run.status === 'WAITING' ? 0 : 1
}

function readyAt({ status, wakeAt, createdAt }: RunRecord): number {
  return status === 'DELAYED' ? (wakeAt ?? createdAt) : createdAt
}
