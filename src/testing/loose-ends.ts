import type { HoldingClock } from '../contract/clock.ts'
import type { RunStatus } from '../contract/records.ts'
import type { Storage } from '../contract/storage.ts'
import { captureOrigin, type Origin } from './origin.ts'
import { seen } from './seen-answer.ts'
import { TestError } from './test-error.ts'
import type { Witness } from './witness.ts'

const FAILURES: readonly (RunStatus | undefined)[] = ['FAILED', 'CRASHED', 'TIMED_OUT']

/** What a test of one engine has begun and not brought to an end: what it awaits, and failures nobody looked at. */
export class LooseEnds {
  readonly #witness: Witness
  readonly #awaited = new Map<object, { readonly id: string; readonly origin: Origin }>()
  readonly #failed = new Map<string, string>()

  constructor(witness: Witness) {
    this.#witness = witness
  }

  /** The same clock; who awaits something outside of runs is remembered as long as they do. */
  watchClock(clock: HoldingClock): HoldingClock {
    return {
      ...clock,
      hold: (hold) => {
        if (hold.kind !== 'awaited') return clock.hold(hold)
        const release = clock.hold(hold)
        this.#awaited.set(release, { id: hold.id, origin: captureOrigin() })
        return () => {
          this.#awaited.delete(release)
          release()
        }
      },
    }
  }

  /** The same storage; a run that failed is remembered until somebody reads it. */
  watchStorage(storage: Storage): Storage {
    const { runs } = storage
    return {
      ...storage,
      runs: {
        ...runs,
        update: (request) => {
          const isFailure = FAILURES.includes(request.change.status)
          const whom = isFailure ? this.#witness.whom(request.id) : undefined
          return seen(runs.update(request), (updated) => {
            if (whom !== undefined && updated?.record.status === request.change.status)
              this.#failed.set(request.id, `${whom}, ended as ${updated?.record.status}`)
          })
        },
        get: (id) =>
          seen(runs.get(id), () => {
            this.#failed.delete(id)
          }),
        list: (filter, page) =>
          seen(runs.list(filter, page), (listed) => {
            for (const { id } of listed.records) this.#failed.delete(id)
          }),
      },
    }
  }

  /** Somebody looked at these runs. */
  seen(runIds: Iterable<string>): void {
    for (const id of runIds) this.#failed.delete(id)
  }

  /** What is left, as an error; nothing when all is well. */
  get error(): TestError | undefined {
    const awaited = Array.from(
      this.#awaited.values(),
      ({ id, origin }) => `"${id}" is still awaited at ${origin()}`,
    )
    const failed = Array.from(this.#failed.values(), (text) => `nobody looked at ${text}`)
    const list = [...awaited, ...failed]
    if (list.length === 0) return undefined
    return new TestError(
      'ERR_LOOSE_ENDS',
      'Cannot close the test engine without a word: something is left. ' +
        `Await what was begun, and look at what failed (\`await run.outcome()\`).\n${list.join('\n')}`,
    )
  }
}
