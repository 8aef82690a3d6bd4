import { AsyncResource } from 'node:async_hooks'
import type { RunRecord } from '../../contract/records.ts'
import type { RunClaim, RunClaimed } from '../../contract/storage.ts'
import { chain, unawaited } from '../../primitives/awaitable.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import type { Host } from '../host/host.ts'
import type { RunJournal } from '../changes/run-journal.ts'
import type { Slots } from './slots.ts'
import type { TaskRegistry } from '../attempt/task-definition.ts'
import type { Ticker } from './ticker.ts'

const CLAIM_LIMIT = 256
const SETTLED = Promise.resolve()

export interface ClaimerOptions {
  readonly host: Host
  readonly tasks: TaskRegistry
  readonly maxInterruptions: number
  /** Who does not hear of storage for so long has lost its runs to others. */
  readonly leaseMs: number
  /** Without it nothing is claimed. */
  readonly execute: boolean
  readonly slots: Slots
  readonly journal: RunJournal
  readonly ticker: Ticker
}

export interface ClaimerEvents {
  /** A run is to be executed here. */
  readonly start: (record: RunRecord) => void
  /** It would have been, but was canceled: it still has a slot. */
  readonly canceled: (record: RunRecord) => void
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
  /** Something may have happened to any. */
  #isLost = false

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

  /** What changed was not told. */
  lost(): void {
    this.#isLost = this.#unanswered !== undefined
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

  #claimed({ runs, ended }: RunClaimed, claim: RunClaim): void | Promise<void> {
    this.#mayHaveMore ||= runs.length === claim.limit
    this.#options.journal.runs(ended)
    return this.#take(runs, claim)
  }

  /** Starts runs that nothing has happened to since `now`; what something may have happened to is looked at first. */
  #take(runs: readonly RunRecord[], { by, now }: Pick<RunClaim, 'by' | 'now'>): void | Promise<void> {
    const { host, slots, leaseMs } = this.#options
    // Under a name that has lost its lease since, they are somebody else's by now.
    const areOurs = by === host.owner && !host.isClosed
    const isLate = this.#isLost || host.now() - now > leaseMs / 3
    if (areOurs && (isLate || this.#changed.size > 0)) {
      const doubtful = runs.filter(({ id }) => isLate || this.#changed.has(id))
      const lookedAt = host.now()
      if (doubtful.length > 0)
        return this.#look(doubtful).then((gone) =>
          this.#take(
            runs.filter((record) => !gone.has(record)),
            { by, now: lookedAt },
          ),
        )
    }
    this.#end()
    this.#unanswered = undefined
    this.#forget()
    if (areOurs) for (const record of runs) this.#events.start(record)
    slots.endClaim()
    if (this.#mayHaveMore) this.poke()
  }

  /** Those that are not as they were handed over any more. */
  async #look(runs: readonly RunRecord[]): Promise<ReadonlySet<RunRecord>> {
    this.#forget()
    const { storage } = this.#options.host
    const found = await Promise.all(runs.map(async ({ id }) => storage.runs.get(id)))
    for (const [at, { epoch }] of runs.entries()) {
      const record = found[at]
      if (record?.status === 'CANCELED' && record.epoch === epoch + 1) this.#events.canceled(record)
    }
    return new Set(runs.filter((record, at) => !isSame(record, found[at])))
  }

  #forget(): void {
    this.#changed.clear()
    this.#isLost = false
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
