import type { TokenRecord } from '../../contract/records.ts'
import { requireName } from '../../primitives/require.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { Kernel } from '../kernel.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { assertOpen, fenceOf } from '../attempt/attempt.ts'
import { fromJson, toJson } from '../host/serialize.ts'

/** The stored effects of the runs that execute here. */
export class OnceEffects {
  readonly #kernel: Kernel
  readonly #underWay = new WeakMap<Attempt, Map<string, Promise<unknown>>>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** The result of the effect, as stored: run now, or in an earlier attempt of this run. */
  run<Result>(key: string, effect: () => Result | Promise<Result>): Promise<Result> {
    return this.#kernel.call(() => {
      const scope = this.#kernel.requireAttempt('once')
      requireName(key, 'once key')
      if (typeof effect !== 'function')
        throw new TypeError(`Cannot run once "${key}": its effect must be a function`)
      const underWay = this.#underWay.get(scope) ?? new Map<string, Promise<unknown>>()
      this.#underWay.set(scope, underWay)
      const known = underWay.get(key)
      // The result is of the type of the effect under this key, which is the caller's to keep the same.
      if (known !== undefined) return known as Promise<Result>
      const result = this.#run(scope, key, effect)
      underWay.set(key, result)
      return result.finally(() => underWay.delete(key)) as Promise<Result>
    })
  }

  async #run(scope: Attempt, key: string, effect: () => unknown): Promise<unknown> {
    const { host } = this.#kernel
    const request = {
      record: this.#record(scope, key),
      fence: fenceOf(scope),
      now: host.now(),
      by: host.owner,
    }
    const stored = await this.#kernel.written(scope, host.storage.tokens.insert(request))
    if (stored.record.status === 'COMPLETED') return fromJson(stored.record.outputJson)
    assertOpen(scope)
    const outputJson = toJson(await effect(), 'the result of once', key)
    // The effect has happened: it is recorded even if the attempt ended or was lost meanwhile, hence without a fence,
    // so that the next attempt need not repeat it; but not on a closed engine.
    if (host.isClosed) throw host.closedError()
    const { id } = stored.record
    const settled = await host.storage.tokens.settle({ id, outputJson, by: host.owner, now: host.now() })
    if (settled === undefined || settled === 'stale') {
      throw new WaitpointError(
        'ERR_RUN_ENDED',
        `Cannot store the result of once "${key}": its run is no longer kept`,
      )
    }
    return fromJson(settled.record.outputJson)
  }

  #record(scope: Attempt, key: string): TokenRecord {
    const { host } = this.#kernel
    return {
      id: host.newId('once'),
      kind: 'ONCE',
      status: 'WAITING',
      tags: [],
      key: { scope: scope.id, value: `once/${key}` },
      runId: scope.id,
      createdAt: host.now(),
    }
  }
}
