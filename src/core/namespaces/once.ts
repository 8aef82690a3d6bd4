import type { KeyRecord, TokenRecord } from '../../contract/records.ts'
import type { TokenSettle } from '../../contract/storage.ts'
import { requireName } from '../../primitives/require.ts'
import { messageOf } from '../../primitives/message.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { Kernel } from '../kernel.ts'
import type { GivenAnswer } from '../attempt/answer-order.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { EffectChunks } from '../attempt/effect-chunks.ts'
import type { Place } from '../attempt/places.ts'
import { assertOpen, fenceOf, inPlace, placeOfBranch } from '../attempt/attempt.ts'
import { INSERT_TOKEN, SETTLE_TOKEN } from '../host/storage-calls.ts'
import { isStuck } from '../execution/effects.ts'
import { fromJson, toJson } from '../../api/serialize.ts'
import type { Values } from '../../api/values.ts'
import { branchContent, toldKey } from '../waits/key.ts'

/** The stored effects of the runs that execute here. */
export class OnceEffects {
  readonly #kernel: Kernel
  /** By run and key: an effect goes on when its attempt has ended, and the next attempt joins it. */
  readonly #underWay = new Map<string, Effect>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** The result of the effect, as stored: run now, or in an earlier attempt of this run. */
  run<Result>(key: string, effect: () => Result | Promise<Result>): Promise<Result> {
    return this.#kernel.call(() => {
      const attempt = this.#kernel.requireRunning('once')
      requireName(key, 'once key')
      if (typeof effect !== 'function')
        throw new TypeError(`Cannot run once "${key}": its effect must be a function`)
      const stored = this.#kernel.place(attempt, { kind: 'once', name: key, content: undefined })
      const name = `${attempt.id} ${key}`
      const branch = placeOfBranch(attempt, branchContent(key), new EffectChunks())
      // The result is of the type of the effect under this key, which is the caller's to keep the same.
      return this.#joined(name, { attempt, key, stored, effect, branch }) as Promise<Result>
    })
  }

  /** The effect that is under way, or a new one. */
  #joined(name: string, effect: NewEffect): Promise<unknown> {
    const known = this.#underWay.get(name)
    if (known === undefined || isStuck(known.branch)) return this.#begin(name, effect)
    if (known.branch.attempt === effect.attempt) return known.result
    // An earlier attempt hands on its result. Why it got none, such as its own end, is no failure of this one.
    return known.result.catch(() => this.#joined(name, effect))
  }

  #begin(name: string, effect: NewEffect): Promise<unknown> {
    const result = this.#run(effect)
    this.#underWay.set(name, { branch: effect.branch, result })
    const ended = (): void => {
      if (this.#underWay.get(name)?.result === result) this.#underWay.delete(name)
    }
    result.then(ended, ended)
    return result
  }

  /** A result is an answer like those to waits: the attempt goes on with one after the other. */
  async #run(effect: NewEffect): Promise<unknown> {
    const { values } = this.#kernel
    return readEffect(await effect.attempt.inTurn(this.#recorded(effect), resultOf), values)
  }

  /** The record of an effect: as an earlier execution has left it, or with what it results in now. */
  async #recorded({ attempt, key, stored: asked, effect, branch }: NewEffect): Promise<TokenRecord> {
    const { host } = this.#kernel
    const told = toldKey(attempt)
    const record = this.#record(attempt, asked, told)
    const request = { record, fence: fenceOf(attempt), now: host.now(), by: host.owner }
    const stored = await this.#kernel.written(attempt, INSERT_TOKEN, request)
    // Made by an earlier attempt, it tells what came before it there.
    if (told !== undefined && !stored.record.tags.includes(told)) await this.#kernel.writeTold(attempt, told)
    if (stored.record.status === 'COMPLETED') return stored.record
    assertOpen(attempt)
    return this.#kernel.effects.track(branch, async () => {
      // The waits of the effect are not repeated once it is recorded: they have places of their own.
      const outputJson = effectText(await inPlace(branch, effect), key, this.#kernel.values)
      const answeredJson = await branch.chunks?.stored()
      return this.#keep(attempt, key, { id: stored.record.id, outputJson, answeredJson })
    })
  }

  /**
   * Records an effect that has happened, even if the attempt ended or was lost meanwhile, hence without a fence, so that
   * the next attempt need not repeat it; but not on a closed engine. One that has written chunks is repeated: a stream must not
   * have those of two attempts.
   */
  async #keep(
    attempt: Attempt,
    key: string,
    effect: Pick<TokenSettle, 'id' | 'outputJson' | 'answeredJson'>,
  ): Promise<TokenRecord> {
    const { host } = this.#kernel
    if (host.isClosed) throw host.closedError()
    if (effect.answeredJson !== undefined) assertOpen(attempt)
    const request = (): TokenSettle => ({ by: host.owner, now: host.now(), ...effect })
    const settled = await (effect.answeredJson === undefined
      ? this.#kernel.outage.persist(attempt, () => host.storage.tokens.settle(request()))
      : this.#kernel.written(attempt, SETTLE_TOKEN, { ...request(), fence: fenceOf(attempt) }))
    if (settled !== undefined && settled !== 'stale') return settled.record
    throw new WaitpointError(
      'ERR_RUN_ENDED',
      `Cannot store the result of once "${key}": its run is no longer kept`,
    )
  }

  #record(attempt: Attempt, key: KeyRecord, told: string | undefined): TokenRecord {
    const { id, createdAt } = this.#kernel.host.made('once')
    return {
      id,
      kind: 'ONCE',
      status: 'WAITING',
      // All attempts share its key, so that is not where it tells what came before.
      tags: told === undefined ? [] : [told],
      key,
      runId: attempt.id,
      createdAt,
    }
  }
}

interface NewEffect {
  readonly attempt: Attempt
  readonly key: string
  /** That of its record. */
  readonly stored: KeyRecord
  readonly effect: () => unknown
  /** The place where the flow of the effect begins. */
  readonly branch: Place<Attempt>
}

/** An effect that is under way. */
interface Effect extends Pick<NewEffect, 'branch'> {
  readonly result: Promise<unknown>
}

/** The text of an effect whose result is not JSON begins with this: no JSON text begins with a blank. */
const NOT_JSON = ' '

/** The text that records an effect. It has happened, so a result that cannot be stored is recorded as an error. */
function effectText(result: unknown, key: string, values: Values): string | undefined {
  const subject = 'the result of once'
  try {
    return toJson(values.encode(result, subject, key), subject, key)
  } catch (error) {
    return NOT_JSON + JSON.stringify(messageOf(error))
  }
}

function resultOf({ id, completedAt, createdAt }: TokenRecord, since: number): GivenAnswer {
  return { at: completedAt ?? createdAt, id, since }
}

function readEffect({ outputJson }: TokenRecord, values: Values): unknown {
  if (outputJson?.startsWith(NOT_JSON) !== true) return values.decode(fromJson(outputJson))
  throw new WaitpointError('ERR_NOT_SERIALIZABLE', String(fromJson(outputJson)))
}
