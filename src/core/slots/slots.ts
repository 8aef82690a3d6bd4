import { isOfSeveral, laneOfRun, poolsOfLane, queuePool } from '../../contract/pools.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { Awaitable, RunFence, RunResumed, RunToResume } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import { type Few, itemsOf, withItem, withoutItem } from '../../primitives/few.ts'
import type { Host } from '../host/host.ts'
import type { Outage } from '../host/outage.ts'
import { type Attempt, learn } from '../attempt/attempt.ts'
import type { TaskRegistry } from '../../api/task-definition.ts'
import type { EventQueue } from '../changes/events.ts'
import type { Publisher } from '../changes/publisher.ts'
import { tellPark } from '../host/attempt-messages.ts'
import type { Upcalls } from '../upcalls.ts'
import { ReadyLine, type ReadyRun } from './ready-line.ts'

/** While runs resume, the clock is asked after so many of them whether the event loop is due a turn. */
const LOOK_EVERY = 16
/** Of so many slots in a row the last goes to a claim before runs that can go on, so that new runs begin. */
const CLAIM_EVERY = 8
/** A turn of the event loop that much work was cut short for is no rest, so often in a row: on a busy host for a second or so. */
const MOST_TURNS = 256

/** The lane of runs that storage has resumed: they have their slots of it, and wait for none of their queue. No other is called so. */
const RESUMED = ''

interface Parts {
  readonly host: Host
  readonly tasks: TaskRegistry
  readonly outage: Outage
  readonly events: EventQueue
  readonly publisher: Publisher
  readonly upcalls: Upcalls
}

/** A resume is out. */
interface Resuming {
  readonly lane: string
  /** A slot of the lane may have been freed since. */
  isFreed: boolean
  /** How often storage was asked. */
  tries: number
}

/** A parked run that the settle of a token may resume, until it goes on. */
export interface ResumeOffer {
  readonly attempt: Attempt
  readonly run: RunToResume
  /** The run, once storage has resumed it. */
  record: RunRecord | undefined
}

/**
 * The slots of an engine: so many runs may execute at once. A run that has waited for one whole macrotask turn parks and
 * gives its slot back; its waits get their outcomes once it has a slot again, resumed runs before all but a few queued ones.
 */
export class Slots {
  readonly #kernel: Parts
  /** Runs that may execute in this engine at once. */
  readonly concurrency: number
  /** Runs that could go on but found no slot. */
  readonly #line = new ReadyLine()
  /** Queues that have a limit in storage, as an answer has shown. */
  readonly #limited = new Set<string>()
  /** Resumes that storage has not answered yet. */
  readonly #resuming = new Set<Resuming>()
  /** Runs that a settle may resume, or has resumed: they go on once they are delivered an outcome. */
  readonly #offers = new Map<Attempt, ResumeOffer>()
  /** Runs that may have to park when this turn is over. */
  #turn: Few<Attempt> = undefined
  #isTurnSet = false
  /** So many turns in a row were not at rest. */
  #turnsInARow = 0
  #turnsSeen = 0
  #used = 0
  #claiming = 0
  /** Slots that runs which could go on got since the last claim. */
  #resumedSince = 0
  /** A slot is kept for the claim that comes next. */
  #isKept = false
  /** Slots of runs that are being inserted. */
  #reserved = 0
  /** Runs that have returned and have streams or a hook: they go on without a slot. */
  readonly #draining = new Set<Attempt>()
  /** Runs that execute after their process has died with them. */
  readonly #suspects = new Set<Attempt>()
  /** While one of them is to execute alone: is told when nothing executes. */
  #whenEmpty: (() => void) | undefined
  #isServing = false
  /** Runs that can go on wait for a turn of the event loop. */
  #isPaused = false
  #resumes = 0
  #idle: (() => void) | undefined

  /** @param settings `concurrency`: runs that may execute in this engine at once. */
  constructor(kernel: Parts, { concurrency }: { readonly concurrency: number }) {
    this.#kernel = kernel
    this.concurrency = concurrency
  }

  /** How many more runs may start here. */
  get room(): number {
    if (this.#whenEmpty !== undefined) return 0
    return Math.max(0, this.concurrency - this.#used - this.#claiming - this.#reserved)
  }

  /** How many more runs may go on. An engine that closes claims none, and keeps no slot for that. */
  get #roomToResume(): number {
    return Math.max(0, this.room - (this.#isKept && !this.#kernel.host.isClosing ? 1 : 0))
  }

  /** How many more new runs may be claimed: runs that wait for a turn to go on are to have the other slots. */
  get roomToClaim(): number {
    if (this.#line.isTrying && !this.#isKept) return 0
    // Where there are slots without a limit none is theirs.
    if (!this.#isPaused || this.#line.isEmpty || this.room === Infinity) return this.room
    return this.room - this.#roomToResume
  }

  get used(): number {
    return this.#used
  }

  /** How many runs execute after their process has died with them. */
  get suspects(): number {
    return this.#suspects.size
  }

  /** Whether nothing executes, nor is about to. */
  get isEmpty(): boolean {
    return this.#isIdle && this.#reserved === 0 && this.#claiming === 0
  }

  /** Whether one run is to execute alone. */
  get isHeld(): boolean {
    return this.#whenEmpty !== undefined
  }

  /** No run begins or goes on from now on, but for one that a claim is out for; `whenEmpty` is called each time when nothing executes. */
  hold(whenEmpty: () => void): void {
    this.#whenEmpty = whenEmpty
  }

  endHold(): void {
    this.#whenEmpty = undefined
    this.#serve()
  }

  /** Runs that have returned and go on without a slot. */
  get draining(): number {
    return this.#draining.size
  }

  /** Calls `listener` once no run holds a slot or goes on without one; at once if none does. */
  whenIdle(listener: () => void): void {
    if (this.#isIdle) listener()
    else this.#idle = listener
  }

  get #isIdle(): boolean {
    return this.#used === 0 && this.#draining.size === 0
  }

  /** A claim for so many runs is out: no other run gets their slots meanwhile. */
  beginClaim(count: number): void {
    this.#claiming = count
    this.#isKept = false
    this.#resumedSince = 0
  }

  /** The claimed runs have started. */
  endClaim(): void {
    this.#claiming = 0
    this.#resumeWaiting()
  }

  /** Keeps a slot for a run that is being inserted; false if there is none, or runs that can go on are to have it. */
  reserve(): boolean {
    if (this.room === 0 || !this.#line.isEmpty) return false
    this.#reserved += 1
    return true
  }

  /** The run has started, or does not need the slot. */
  endReservation(): void {
    this.#reserved -= 1
    this.#resumeWaiting()
  }

  /** A claimed run starts with its slot. */
  take(attempt: Attempt): void {
    this.#used += 1
    attempt.hold('executing')
    if (attempt.record.interruptions > 0) this.#suspects.add(attempt)
  }

  /** The function has returned, and its streams are drained: without a slot, but not idle. */
  drain(attempt: Attempt): void {
    this.#giveBack(attempt)
    attempt.drain()
    this.#draining.add(attempt)
    this.#freed(attempt)
    this.#serve()
  }

  /** The attempt is over. */
  release(attempt: Attempt): void {
    this.#giveBack(attempt)
    attempt.letGo()
    if (this.#draining.size > 0) this.#draining.delete(attempt)
    if (this.#offers.size > 0) this.#offers.delete(attempt)
    if (!this.#line.isEmpty) this.#line.remove(attempt)
    this.#turn = withoutItem(this.#turn, attempt)
    this.#freed(attempt)
    this.#serve()
  }

  /** A wait of this run is registered: if nothing is delivered for a whole turn, the run parks. */
  parkAfterTurn(attempt: Attempt): void {
    if (!attempt.is('executing')) return
    this.#turn = withItem(this.#turn, attempt)
    this.#setTurn()
  }

  /** Answers are held: the next is handed over when this turn is over. */
  answerAfterTurn(attempt: Attempt): void {
    this.#turn = withItem(this.#turn, attempt)
    this.#setTurn()
  }

  /** A parked run may go on, as soon as there is a slot. */
  resume(attempt: Attempt): void {
    const lane = this.#offers.get(attempt)?.record === undefined ? laneOfRun(attempt.record) : RESUMED
    if (this.#roomToResume > 0 && this.#line.isEmpty && !this.#line.isClosed(lane) && !this.#isTurnDue()) {
      this.#askToResume(attempt)
      return
    }
    attempt.queue()
    this.#line.add(attempt, lane, this.#kernel.host.now())
    this.#resumeWaiting()
  }

  /** How many runs go on before this one; `undefined` if it waits for a slot of its queue, or has one. */
  ahead(attempt: Attempt): number | undefined {
    const ahead = this.#line.ahead(attempt)
    return ahead === undefined || !this.#isClaimDue() ? ahead : ahead + 1
  }

  /** The pool without a slot for a run that can go on. */
  fullPool(attempt: Attempt): string | undefined {
    return this.#line.fullPool(attempt)
  }

  /**
   * Lets the settle of a token resume a parked run that waits for it, if there is a slot. None is kept: the settle may wait for a
   * transaction of the user's. A run that finds none, once it has resumed in storage, stands in line for one.
   */
  offer(attempt: Attempt): ResumeOffer | undefined {
    const { host } = this.#kernel
    if (host.storage.resumesWaiting !== true || host.isClosing || !attempt.is('parked')) return undefined
    const { epoch } = attempt.record
    if (this.#hasLimit(attempt)) return undefined
    if (!this.#line.isEmpty || this.room <= this.#offers.size || this.#offers.has(attempt)) return undefined
    const offer = { attempt, run: { runId: attempt.id, epoch, parks: parksOf(attempt) }, record: undefined }
    this.#offers.set(attempt, offer)
    return offer
  }

  /** Storage has answered the settle: `record` if that has resumed the run. A run that has gone on since is not resumed once more. */
  answered(offer: ResumeOffer, record: RunRecord | undefined): void {
    if (this.#offers.get(offer.attempt) !== offer) return
    if (record === undefined) {
      this.#offers.delete(offer.attempt)
      return
    }
    offer.record = record
    if (!offer.attempt.is('queued')) return
    // It stands in line for a slot of its queue, which it has by now.
    this.#line.add(offer.attempt, RESUMED, this.#kernel.host.now())
    this.#resumeWaiting()
  }

  /** The token is published: a run that storage has resumed goes on, whether or not it was delivered an outcome. */
  goOn({ attempt, record }: ResumeOffer): void {
    if (record !== undefined && attempt.is('parked')) this.resume(attempt)
  }

  /** A parked run goes on, and is told with its slot what for. False: it is not parked, and storage has to be asked. */
  wake(attempt: Attempt): boolean {
    if (!attempt.is('parked')) return false
    this.resume(attempt)
    return true
  }

  /** Tries again for runs that found all slots of their queue taken by other engines. */
  retry(): void {
    this.#line.retry()
    for (const one of this.#resuming) one.isFreed = true
    this.#serve()
  }

  #setTurn(): void {
    if (this.#isTurnSet) return
    this.#isTurnSet = true
    this.#kernel.host.clock.setTimer(this.#kernel.host.now(), () => this.#endTurn(), {
      label: 'parking',
      background: true,
    })
  }

  #endTurn(): void {
    this.#isTurnSet = false
    const turn = this.#turn
    this.#turn = undefined
    const isAtRest = this.#isAtRest()
    for (const attempt of itemsOf(turn)) {
      const hasGoneOn = attempt.endTurn()
      if (hasGoneOn) this.#turn = withItem(this.#turn, attempt)
      // Another answer is to follow, or a call to storage is out.
      if (attempt.isReplaying) continue
      if (!attempt.is('executing') || attempt.registeredWaits === 0) continue
      if (!isAtRest || attempt.hasGoneOn || attempt.heldAnswers > 0)
        this.#turn = withItem(this.#turn, attempt)
      else if (attempt.isWorking) attempt.waitBeside()
      // It is asked again once that is answered.
      else if (attempt.writesOut > 0) continue
      else this.#park(attempt)
      attempt.hasGoneOn = hasGoneOn
    }
    if (this.#turn !== undefined && !this.#kernel.host.isClosed) this.#setTurn()
  }

  /** Whether the event loop had nothing else to do in this turn: one that was cut short to be fair is no rest. */
  #isAtRest(): boolean {
    const { turns } = this.#kernel.host
    this.#turnsInARow = turns === this.#turnsSeen ? 0 : this.#turnsInARow + 1
    this.#turnsSeen = turns
    return this.#turnsInARow === 0 || this.#turnsInARow > MOST_TURNS
  }

  #park(attempt: Attempt): void {
    attempt.park()
    this.#kernel.events.report(
      () => chain(this.#storePark(attempt), (record) => this.#parked(attempt, record)),
      attempt.id,
    )
  }

  #parked(attempt: Attempt, record: RunRecord | undefined): void {
    if (!attempt.is('parking')) return
    if (record === undefined) {
      this.#kernel.upcalls.stale(attempt)
      return
    }
    attempt.parked()
    tellPark(attempt, this.#kernel.host, 'park')
    this.#used -= 1
    if (this.#suspects.size > 0) this.#suspects.delete(attempt)
    this.#changed(attempt, record)
    this.#freed(attempt)
    if (attempt.hasDeliveries) this.resume(attempt)
    this.#serve()
  }

  #changed(attempt: Attempt, record: RunRecord): void {
    if (learn(attempt, record)) this.#kernel.publisher.run(record)
  }

  /** One the run did not wait for is not made. */
  #storePark(attempt: Attempt): Awaitable<RunRecord | undefined> {
    const { runs } = this.#kernel.host.storage
    // Not asked for again: the answer to another call may tell of this park before its own.
    const parks = parksOf(attempt) + 1
    return this.#kernel.outage.persist(attempt, () => {
      if (!attempt.is('parking')) return undefined
      return chain(this.#forgetDelivered(attempt), () => runs.park(this.#fence(attempt, parks)))
    })
  }

  #storeResume(attempt: Attempt, isHinted: boolean, asked: Resuming): Awaitable<RunResumed> {
    const { runs } = this.#kernel.host.storage
    const { tasks } = this.#kernel
    const queueLimit = tasks.queueLimits.get(attempt.record.queue)
    const limits = attempt.record.limits === undefined ? undefined : tasks.limits
    return this.#kernel.outage.persist<RunResumed>(attempt, () => {
      if (!attempt.is('resuming')) return { outcome: 'stale' }
      asked.tries += 1
      return runs.resume({ queueLimit, limits, isHinted, ...this.#fence(attempt, parksOf(attempt)) })
    })
  }

  /** A parked run is executed elsewhere once a wait of its is ready: outcomes that it has already got must not count. */
  #forgetDelivered(attempt: Attempt): Awaitable<void> {
    if (attempt.delivered.length === 0) return
    const { owner, storage } = this.#kernel.host
    const waits = attempt.delivered.map((tokenId) => ({ tokenId, runId: attempt.id, owner }))
    return chain(storage.tokens.release(waits), () => {
      attempt.forgetDelivered(waits.length)
    })
  }

  /** `place`: where it stood in line. */
  #askToResume(attempt: Attempt, place?: ReadyRun): void {
    attempt.resume()
    this.#used += 1
    this.#resumedSince += 1
    const { events } = this.#kernel
    const record = this.#takeOffer(attempt)
    if (record !== undefined) {
      if (place !== undefined) this.#line.answered(place.lane)
      events.report(
        () => this.#resumed(attempt, { outcome: 'resumed', record }, !attempt.hasDeliveries),
        attempt.id,
      )
      return
    }
    const lane = laneOfRun(attempt.record)
    const isHinted = !attempt.hasDeliveries
    const { queue, concurrencyKey } = attempt.record
    if (this.#hasLimit(attempt)) this.#line.ask(lane)
    const resuming: Resuming = { lane, isFreed: false, tries: 0 }
    this.#resuming.add(resuming)
    const resumed = (): Awaitable<void> =>
      chain(this.#storeResume(attempt, isHinted, resuming), (answer) => {
        const isFull = answer.outcome === 'full'
        const full = isFull ? (answer.pool ?? queuePool(queue, concurrencyKey)) : undefined
        this.#line.answered(lane, resuming.isFreed ? undefined : full)
        this.#resuming.delete(resuming)
        if (isFull) this.#limited.add(queue)
        if (attempt.is('resuming')) {
          // The try whose answer was lost may get the slot after this refusal: its run is the first to ask again.
          if (isFull) this.#backInLine(attempt, resuming.tries > 1 ? 'first' : place)
          else this.#resumed(attempt, answer, isHinted)
        }
        // Stored after the lease was lost: the run is left to the next claim, and no tick may come that says so.
        else if (answer.outcome === 'resumed') this.#kernel.upcalls.claimable()
        // No new run was claimed meanwhile.
        const mayClaim = isFull || (isOfSeveral(lane) && !this.#line.isTrying)
        if (mayClaim && this.room > 0) this.#kernel.upcalls.slotFreed()
        this.#resumeWaiting()
      })
    events.report(resumed, attempt.id)
  }

  /** From here on the answer to a settle resumes the run no more. Answers the run if one has resumed it before. */
  #takeOffer(attempt: Attempt): RunRecord | undefined {
    if (this.#offers.size === 0) return undefined
    const offer = this.#offers.get(attempt)
    this.#offers.delete(attempt)
    return offer?.record
  }

  #resumed(attempt: Attempt, answer: RunResumed, isHinted: boolean): void {
    if (answer.outcome === 'resumed') {
      attempt.resumed()
      tellPark(attempt, this.#kernel.host, 'resume')
      this.#changed(attempt, answer.record)
      attempt.handOverAll()
      if (isHinted) this.#kernel.upcalls.woken(answer.tokens)
      attempt.hasGoneOn = true
      if (attempt.registeredWaits > 0) this.parkAfterTurn(attempt)
      return
    }
    this.#giveBack(attempt)
    this.#kernel.upcalls.stale(attempt)
  }

  #backInLine(attempt: Attempt, place: ReadyRun | 'first' | undefined): void {
    this.#giveBack(attempt)
    this.#resumedSince -= 1
    attempt.queue()
    const lane = laneOfRun(attempt.record)
    if (place === 'first') this.#line.add(attempt, lane, -Infinity)
    else if (place === undefined) this.#line.add(attempt, lane, this.#kernel.host.now())
    else this.#line.putBack(place)
  }

  /** Whether its resume may find no slot. */
  #hasLimit({ record: { queue, limits } }: Attempt): boolean {
    return limits !== undefined || this.#kernel.tasks.queueLimits.has(queue) || this.#limited.has(queue)
  }

  /** A run has given back its slots in storage: others may have them. */
  #freed(attempt: Attempt): void {
    if (!this.#line.hasRefused && this.#resuming.size === 0) return
    const lane = laneOfRun(attempt.record)
    const pools = poolsOfLane(lane)
    this.#line.freed(pools)
    for (const one of this.#resuming)
      one.isFreed ||= one.lane === lane || poolsOfLane(one.lane).some((pool) => pools.includes(pool))
  }

  /** Gives free slots to runs that can go on, then to new ones. */
  #serve(): void {
    this.#resumeWaiting()
    if (this.#isIdle) this.#idle?.()
    if (this.room > 0) this.#kernel.upcalls.slotFreed()
  }

  #resumeWaiting(): void {
    // Storage may answer within the call: the loop that is under way goes on with what is next.
    if (this.#isServing) return
    this.#isServing = true
    while (!this.#line.isEmpty && this.#roomToResume > 0) {
      if (this.#isClaimDue()) {
        this.#isKept = true
        this.#kernel.upcalls.claimable()
        continue
      }
      if (this.#isTurnDue()) break
      const run = this.#line.take()
      if (run === undefined) break
      if (run.attempt.is('queued')) this.#askToResume(run.attempt, run)
      else this.#line.answered(run.lane)
    }
    this.#isServing = false
    if (this.isEmpty) this.#whenEmpty?.()
  }

  /** Whether the next slot goes to a claim: new runs would never begin beside those that go on for ever. */
  #isClaimDue(): boolean {
    return (
      this.#resumedSince >= CLAIM_EVERY - 1 &&
      this.#claiming === 0 &&
      !this.#isKept &&
      this.#kernel.upcalls.mayHaveMore()
    )
  }

  /** Thousands of runs that resume at once do so in slices, with a turn of the event loop between them. */
  #isTurnDue(): boolean {
    if (this.#isPaused) return true
    this.#resumes += 1
    const { host } = this.#kernel
    if (this.#resumes % LOOK_EVERY !== 0 || !host.isTurnDue) return false
    this.#isPaused = true
    host.afterTurn('runs that wait for a turn to go on', () => {
      this.#isPaused = false
      if (!host.isClosed) this.#serve()
    })
    return true
  }

  #giveBack(attempt: Attempt): void {
    if (attempt.giveSlotBack()) this.#used -= 1
    if (this.#suspects.size > 0) this.#suspects.delete(attempt)
  }

  #fence({ record: { id, epoch } }: Attempt, parks: number): RunFence {
    const { host } = this.#kernel
    return { id, epoch, parks, by: host.owner, now: host.now() }
  }
}

function parksOf({ record: { parks = 0 } }: Attempt): number {
  return parks
}
