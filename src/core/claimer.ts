import { AsyncResource } from 'node:async_hooks'
import type { RunRecord } from '../contract/records.ts'
import type { RunClaim, RunClaimed } from '../contract/storage.ts'
import { chain, unawaited } from '../primitives/awaitable.ts'
import { createDeferred, type Deferred } from '../primitives/deferred.ts'
import type { Host } from './host.ts'
import type { RunJournal } from './run-journal.ts'
import type { Slots } from './slots.ts'
import type { TaskRegistry } from './task-definition.ts'
import type { Ticker } from './ticker.ts'

const CLAIM_LIMIT = 256
/** Longer than this no answer takes unless somebody stood still, and others may have gone on meanwhile. */
const LATE_MS = 1_000
const SETTLED = Promise.resolve()

export interface ClaimerOptions {
  readonly host: Host
  readonly tasks: TaskRegistry
  readonly maxInterruptions: number
  /** Without it nothing is claimed. */
  readonly execute: boolean
  readonly slots: Slots
  readonly journal: RunJournal
  readonly ticker: Ticker
}

export interface ClaimerEvents {
  /** A run is to be executed here. */
  readonly start: (record: RunRecord) => void
  /** It would have been, but is over or somebody else's already. */
  readonly gone: (record: RunRecord) => void
}

/** Asks storage for runs to execute, as many as there are slots for. */
export class Claimer {
  readonly #options: ClaimerOptions
  readonly #events: ClaimerEvents
  /** Runs start in the context the engine was created in, not in that of whoever triggered them. */
  readonly #ownContext = new AsyncResource('waitpoint.executor')
  readonly #claimOnce = (): void => {
    this.#isSet = false
    this.#ownContext.runInAsyncScope(() => this.#claim())
  }
  #isSet = false
  #isOut = false
  /** For who waits for the answer to the claim under way. */
  #answered: Deferred<void> | undefined
  /** Claims so far, and for how many runs the last one was while its answer is not known. */
  #claims = 0
  #unanswered: number | undefined
  #mayHaveMore = false
  /** Runs that something happened to while the answer was not known. */
  readonly #changed = new Set<string>()

  constructor(options: ClaimerOptions, events: ClaimerEvents) {
    this.#options = options
    this.#events = events
  }

  /** Claims what can run, in a microtask of its own: many triggers of one turn are one claim. */
  poke(): void {
    if (this.#isSet || !this.#options.execute || this.#options.host.isClosing) return
    this.#isSet = true
    SETTLED.then(this.#claimOnce, this.#claimOnce)
  }

  /** A slot is free: worth a claim when the last one may have left something, or a queue was full. */
  slotFreed(): void {
    if (this.#mayHaveMore || this.#options.tasks.queueLimits.size > 0) this.poke()
  }

  /** Resolves when no claim is out whose answer may be runs that, as storage sees it, execute here already. */
  async answered(): Promise<void> {
    if (!this.#isOut) return
    this.#answered ??= createDeferred<void>()
    await this.#answered.promise
  }

  /** A run that does not execute here was canceled, or changed otherwise: a claim that is out may have had it before. */
  changed(runId: string): void {
    if (this.#unanswered !== undefined) this.#changed.add(runId)
  }

  #claim(): void {
    const { host, tasks, slots, ticker, journal, maxInterruptions } = this.#options
    if (host.isClosing || tasks.ids.length === 0) return
    const limit = this.#unanswered ?? Math.min(slots.room, CLAIM_LIMIT)
    // What a claim that is out has not seen, or what there is no room for, is asked for again.
    this.#mayHaveMore ||= this.#isOut || limit === 0
    if (this.#isOut || limit === 0) return
    this.#isOut = true
    // What a claim that is repeated answers is not all there is.
    this.#mayHaveMore = this.#unanswered !== undefined
    if (this.#unanswered === undefined) this.#claims += 1
    this.#unanswered = limit
    slots.beginClaim(limit)
    const { ids: taskIds, queueLimits } = tasks
    const request = {
      by: host.owner,
      now: host.now(),
      number: this.#claims,
      taskIds,
      limit,
      queueLimits,
      maxInterruptions,
    }
    unawaited(
      () => chain(host.storage.runs.claim(request), (claimed) => this.#claimed(claimed, request)),
      (error) => {
        // What it may have claimed waits for its repetition; the slots stay with it.
        this.#end()
        if (this.#unanswered === undefined) slots.endClaim()
        ticker.catchUp('a claim that failed')
        if (!host.isClosed) journal.events.error(error)
      },
    )
  }

  #claimed(claimed: RunClaimed, claim: RunClaim): void | Promise<void> {
    const isLate = this.#options.host.now() - claim.now > LATE_MS
    if (!isLate && this.#changed.size === 0) return this.#begin(claimed.runs, claimed, claim)
    return this.#unchanged(claimed.runs, isLate).then((runs) => this.#begin(runs, claimed, claim))
  }

  #begin(runs: readonly RunRecord[], claimed: RunClaimed, { by, limit }: RunClaim): void {
    const { host, slots, journal } = this.#options
    this.#end()
    this.#unanswered = undefined
    this.#changed.clear()
    this.#mayHaveMore ||= claimed.runs.length === limit
    journal.runs(claimed.ended)
    // Under a name that has lost its lease since, they are somebody else's by now.
    if (by === host.owner) for (const record of runs) this.#events.start(record)
    slots.endClaim()
    if (this.#mayHaveMore) this.poke()
  }

  /** Those that are still as they were handed over. */
  async #unchanged(runs: readonly RunRecord[], isLate: boolean): Promise<readonly RunRecord[]> {
    const doubtful = runs.filter(({ id }) => isLate || this.#changed.has(id))
    if (doubtful.length === 0) return runs
    for (const { id } of doubtful) this.#changed.delete(id)
    const { storage } = this.#options.host
    const found = await Promise.all(doubtful.map(async ({ id }) => storage.runs.get(id)))
    const gone = new Set(doubtful.filter((record, at) => !isSame(record, found[at])))
    for (const record of gone) this.#events.gone(record)
    return this.#unchanged(
      runs.filter((record) => !gone.has(record)),
      false,
    )
  }

  /** Whoever waits for it goes on in a microtask, when its runs have been started. */
  #end(): void {
    this.#isOut = false
    this.#answered?.resolve()
    this.#answered = undefined
  }
}

function isSame(record: RunRecord, found: RunRecord | undefined): boolean {
  return found?.epoch === record.epoch && found.status === record.status
}
