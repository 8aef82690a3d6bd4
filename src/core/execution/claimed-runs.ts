import { AsyncResource } from 'node:async_hooks'
import type { RunRecord } from '../../contract/records.ts'
import type { Host } from '../host/host.ts'
import type { Executor } from './executor.ts'

interface Parts {
  readonly host: Host
  readonly executor: Executor
}

/** Runs that something happened to while the answer to their claim was not known: these, any, or none. */
type Doubtful = Set<string> | 'any' | undefined

/** A claim, until its runs have started. */
export interface Doubt {
  doubtful: Doubtful
}

/** Runs as storage has handed them over to `by`, at `now`. */
interface HandedOver {
  readonly runs: readonly RunRecord[]
  readonly by: string
  readonly now: number
}

const NONE: readonly RunRecord[] = []

/** Starts runs that storage has claimed, unless something has happened to them since. */
export class ClaimedRuns {
  readonly #kernel: Parts
  /** An engine that does not hear of storage for so long has lost its runs to others. */
  readonly #leaseMs: number
  /** Runs start in the context the engine was created in, not in that of the call that triggered them. */
  readonly #ownContext = new AsyncResource('waitpoint.executor')

  constructor(kernel: Parts, { leaseMs }: { readonly leaseMs: number }) {
    this.#kernel = kernel
    this.#leaseMs = leaseMs
  }

  /** Does something in the context of the engine. */
  inOwnContext(act: () => void): void {
    this.#ownContext.runInAsyncScope(act)
  }

  /**
   * Calls `start` with the runs that are as they were handed over: nothing has happened to them since `now`, or they were
   * looked at. Within that very step: a run may be canceled in the next one.
   */
  take(
    doubt: Doubt,
    { runs, by, now }: HandedOver,
    start: (unchanged: readonly RunRecord[]) => void,
  ): void | Promise<void> {
    const { host } = this.#kernel
    // Under a name that has lost its lease since, they belong to another engine by now.
    const areOurs = by === host.owner && !host.isClosed
    const isLate = host.now() - now > this.#leaseMs / 3
    const doubtful = areOurs ? runsAmong(runs, isLate ? 'any' : doubt.doubtful) : NONE
    if (doubtful.length === 0) {
      start(areOurs ? runs : NONE)
      return
    }
    return this.#takeRest(doubt, { runs, by, doubtful }, start)
  }

  /** Apart from `take`, which would pay for what this captures. */
  async #takeRest(
    doubt: Doubt,
    { runs, by, doubtful }: Omit<HandedOver, 'now'> & { readonly doubtful: readonly RunRecord[] },
    start: (unchanged: readonly RunRecord[]) => void,
  ): Promise<void> {
    const now = this.#kernel.host.now()
    const gone = await this.#look(doubt, doubtful)
    const rest = runs.filter((record) => !gone.has(record))
    return this.take(doubt, { runs: rest, by, now }, start)
  }

  /** The runs that are not as they were handed over any more. */
  async #look(doubt: Doubt, runs: readonly RunRecord[]): Promise<ReadonlySet<RunRecord>> {
    doubt.doubtful = undefined
    const { host, executor } = this.#kernel
    const found = await Promise.all(runs.map(async ({ id }) => host.storage.runs.get(id)))
    for (const [at, { epoch }] of runs.entries()) {
      const record = found[at]
      if (record?.status === 'CANCELED' && record.epoch === epoch + 1) executor.claimedCanceled(record)
    }
    return new Set(runs.filter((record, at) => !isSame(record, found[at])))
  }
}

/** Something happened to a run while a claim that may have it was out. */
export function doubtRun(doubt: Doubt, runId: string): void {
  if (doubt.doubtful === 'any') return
  if (doubt.doubtful === undefined) doubt.doubtful = new Set([runId])
  else doubt.doubtful.add(runId)
}

function runsAmong(runs: readonly RunRecord[], doubtful: Doubtful): readonly RunRecord[] {
  if (doubtful === undefined) return NONE
  return doubtful === 'any' ? runs : runs.filter(({ id }) => doubtful.has(id))
}

function isSame(record: RunRecord, found: RunRecord | undefined): boolean {
  return found?.epoch === record.epoch && found.status === record.status
}
