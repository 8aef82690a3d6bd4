import { AsyncLocalStorage } from 'node:async_hooks'
import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'
import type { Engine, Task } from 'waitpoint'
import { createEngine, task, wait } from 'waitpoint'
import type { Approvals } from './bare/approvals.ts'
import { RecordedApprovals } from './bare/recorded-approvals.ts'
import { EngineApprovals } from './engine-approvals.ts'
import { effect } from './peers/effect.ts'
import type { Peer } from './peers/peer.ts'
import { resonate } from './peers/resonate.ts'
import { turn } from './turn.ts'

const HOUR_MS = 3_600_000
const BATCH = 10_000
/** The number of waits in one run, when one run has many. */
const MOST_WAITS = 1_000

/** A crowd of any size that can park. */
export interface ParkCrowd {
  park(count: number): Promise<void>
  close(): Promise<void>
}

/** Runs that wait for one token each. */
class ApprovalCrowd implements ParkCrowd {
  readonly #approvals: Approvals

  constructor(approvals: Approvals) {
    this.#approvals = approvals
  }

  async park(count: number): Promise<void> {
    for (let left = count; left > 0; left -= BATCH) {
      for (let run = Math.min(left, BATCH); run > 0; run--) {
        await this.#approvals.trigger({ doc: 'chapter 1' })
        await this.#approvals.asked()
      }
      await this.#approvals.parked()
    }
  }

  close(): Promise<void> {
    return this.#approvals.close()
  }
}

/** Runs of the engine that wait for a thousand tokens each. */
class EngineWaits implements ParkCrowd {
  readonly #task: Task<number, unknown>
  readonly #engine: Engine

  constructor() {
    let created = 0
    this.#task = task({
      id: 'gather',
      run: async (count: number) => {
        const waits: Promise<unknown>[] = []
        for (let left = count; left > 0; left--) {
          const token = await wait.createToken({ timeout: HOUR_MS + (created += 1) })
          waits.push(wait.forToken(token))
        }
        await Promise.all(waits)
      },
    })
    this.#engine = createEngine({ tasks: [this.#task] })
  }

  async park(count: number): Promise<void> {
    for (let left = count; left > 0; left -= MOST_WAITS) {
      await this.#engine.trigger(this.#task, Math.min(left, MOST_WAITS))
    }
    do await turn()
    while (this.#engine.stats().waits < count || this.#engine.stats().executing > 0)
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}

interface Row {
  readonly id: string
  readonly runId: number
  readonly status: 'WAITING'
  readonly timeoutAt: number
  readonly createdAt: number
}

/** A record and a `p-defer` for each wait, in a `Map` each. */
class BareWaits implements ParkCrowd {
  readonly #scopes = new AsyncLocalStorage<{ readonly id: number }>()
  readonly #rows = new Map<string, Row>()
  readonly #waits = new Map<string, DeferredPromise<unknown>>()

  async park(count: number): Promise<void> {
    for (let left = count; left > 0; left -= MOST_WAITS) {
      const size = Math.min(left, MOST_WAITS)
      void this.#scopes.run({ id: left }, () => this.#gather(left, size))
    }
    await turn()
  }

  async #gather(runId: number, count: number): Promise<void> {
    const waits: Promise<unknown>[] = []
    for (let place = 0; place < count; place++) {
      const id = `token_${runId}_${place}`
      const createdAt = Date.now()
      this.#rows.set(id, { id, runId, status: 'WAITING', timeoutAt: createdAt + HOUR_MS, createdAt })
      const deferred = pDefer<unknown>()
      this.#waits.set(id, deferred)
      waits.push(deferred.promise)
    }
    await Promise.all(waits)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

/** The parked crowd: runs with one wait, runs with a thousand waits, or the runs of a peer. */
export type ParkSide = 'ours' | 'bare' | 'our waits' | 'bare waits' | 'Effect' | 'Resonate'

export const parkCrowds: Readonly<Record<ParkSide, () => ParkCrowd | Promise<ParkCrowd>>> = {
  ours: () => new ApprovalCrowd(new EngineApprovals(HOUR_MS)),
  bare: () => new ApprovalCrowd(new RecordedApprovals()),
  'our waits': () => new EngineWaits(),
  'bare waits': () => new BareWaits(),
  Effect: () => peerCrowd(effect),
  Resonate: () => peerCrowd(resonate),
}

async function peerCrowd(peer: Peer): Promise<ParkCrowd> {
  return new ApprovalCrowd(await peer.open(BATCH))
}
