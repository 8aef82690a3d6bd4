import { seededRandom } from '../../clock/seeded-random.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { RunRecord, RunStatus, TokenRecord } from '../../contract/records.ts'
import { isFinal } from '../../contract/run-states.ts'
import type { Storage } from '../../contract/storage.ts'
import { callingAttempt, type EngineObserver, inside } from '../../core/inside.ts'
import { readName } from '../../contract/question-keys.ts'
import type { Engine } from '../../core/engine.ts'
import { errorFromJson, fromJson } from '../../api/serialize.ts'
import { chain } from '../../primitives/awaitable.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { parseDuration } from '../../primitives/duration.ts'
import type { ExplorationTools } from '../exploration/body-tools.ts'
import { callerName } from '../exploration/boundary-storage.ts'
import { Process } from '../exploration/process.ts'
import { FIRST_INSTANT } from '../exploration/schedule-timers.ts'
import type { Setting } from '../exploration/setting.ts'
import { spell } from '../exploration/spell.ts'
import type { World } from '../exploration/world.ts'
import { type FakedPorts, fakeGlobals } from '../fixture/faked-globals.ts'
import { withOperations } from '../storages/wrapped.ts'
import { ToldOrder } from './told-order.ts'
import { effectEnd } from './recorded-answers.ts'
import { RecordedQuestions } from './recorded-questions.ts'
import type { RecordedRun } from './recorded-run.ts'
import { endOfChild, ReplayStorage } from './replay-storage.ts'
import { endOf, type RunEnd } from './run-end.ts'

/** These have come from outside of the function. */
const ENDED_FROM_OUTSIDE: readonly RunStatus[] = ['CANCELED', 'TIMED_OUT', 'CRASHED', 'EXPIRED']
const OUTSIDE = 'outside'

export interface NeighbourOptions {
  readonly effects: Readonly<Record<string, () => unknown>>
  readonly fakeGlobals: boolean
  readonly isLenient: boolean
}

/**
 * What one schedule of a recorded run begins with: the run, and a world that does what it did. Tokens are completed and
 * children end at the instants of the history, effects take as long as they took and result in what they resulted in.
 */
export class Neighbour implements Setting {
  readonly storage: Storage
  readonly clockSkewMs: number
  readonly told: ToldOrder = new ToldOrder()
  readonly #recorded: RecordedRun
  readonly #options: NeighbourOptions
  readonly #world: World
  readonly #replay: ReplayStorage
  /** The storage, as something outside of the engines sees it. */
  readonly #outside: Storage
  readonly #departed: Deferred<void> = createDeferred()
  readonly #unfake: (() => void)[] = []
  /** Ends the effects that the run has not waited for. */
  readonly #over = new AbortController()

  constructor(recorded: RecordedRun, options: NeighbourOptions, world: World) {
    this.#recorded = recorded
    this.#options = options
    this.#world = world
    this.clockSkewMs = recorded.record.updatedAt - FIRST_INSTANT
    this.#replay = new ReplayStorage({
      recorded,
      questions: new RecordedQuestions(recorded, options),
      answers: {
        tokenAsked: (record) => this.#tokenAsked(record),
        childAsked: (record) => this.#childAsked(record),
      },
      departed: () => this.#departed.resolve(),
      isOpen: true,
      returns: () => undefined,
      endsAtOnce: () => false,
    })
    this.storage = this.#watched(this.#replay.storage)
    const { clockSkewMs } = this
    const process = new Process({ name: OUTSIDE, isMortal: false, clockSkewMs })
    this.#outside = world.observer.observe(this.storage, process)
    const { id, taskId } = recorded.record
    world.names.run(id, taskId)
    void this.#replay.begin()
  }

  /** A wait is over once its engine knows. Effects do not happen, unless they are given: they end after as long as in the history, as they ended there. */
  starting(process: Process, engine: () => Engine): EngineObserver {
    return {
      settled: (token) => this.told.answered(token.id, token.status),
      effect: (key) => () => this.#effect(key, engine(), process),
    }
  }

  started(engine: Engine, process: Process): void {
    if (!this.#options.fakeGlobals) return
    const random = seededRandom(`neighbour of ${this.#recorded.record.id}`)
    this.#unfake.push(fakeGlobals(engine, { clock: this.#clockOf(process), random }))
  }

  over(): void {
    for (const unfake of this.#unfake.splice(0)) unfake()
  }

  /**
   * Whether the run was told what it was told in another schedule, in the order that mattered there, and each token ended as in the
   * history.
   */
  isAnsweredAs(usual: ToldOrder): boolean {
    const { tokens } = this.#recorded
    const isAsRecorded = tokens.every(({ id, kind, status }) => {
      const outcome = this.told.outcome(id)
      return outcome === undefined || outcome === status || kind === 'ONCE'
    })
    return isAsRecorded && this.told.isInOrderOf(usual)
  }

  /** Waits for the end of the run, or for the instant at which its history ends. `undefined`: it asked what has no answer. */
  async end(t: ExplorationTools): Promise<RunEnd | undefined> {
    const { record, until, end } = this.#recorded
    const ended = t.engine.runs.poll(record.id)
    // The schedule may be over before it.
    ended.catch(() => undefined)
    const ends = [ended.then(() => true), this.#departed.promise.then(() => false)]
    const isOutsideEnd = ENDED_FROM_OUTSIDE.includes(end.status)
    if (!isFinal(end.status) || isOutsideEnd)
      ends.push(t.clock.sleep(Math.max(0, until - record.updatedAt)).then(() => this.#outsideEnd(t)))
    const isAtEnd = await Promise.race(ends)
    this.#over.abort()
    if (!isAtEnd) return undefined
    const run = await this.#replay.run()
    if (isOutsideEnd && (!isFinal(run.status) || run.status === end.status)) return end
    return endOf(run, isFinal(run.status) ? [] : await this.#replay.waits())
  }

  async #outsideEnd(t: ExplorationTools): Promise<true> {
    const { record, end } = this.#recorded
    if (end.status === 'CANCELED') await t.engine.runs.cancel(record.id)
    return true
  }

  #tokenAsked(record: TokenRecord): void {
    const {
      id,
      kind,
      status,
      outputJson,
      completedAt,
      tags,
      key,
      questionJson: question,
      answeredJson,
    } = record
    if (kind !== 'MANUAL' || status !== 'COMPLETED' || completedAt === undefined) return
    const name = key === undefined ? undefined : readName(key.value)?.name
    const which = name === undefined ? tags.join(', ') : name
    this.#at(completedAt, `the token [${which}] is completed with ${clipped(outputJson)}`, (now) =>
      this.#outside.tokens.settle({
        id,
        outputJson,
        question,
        answeredJson,
        isTimeOut: false,
        by: OUTSIDE,
        now,
      }),
    )
  }

  #childAsked(child: RunRecord): void {
    const { taskId, status, finishedAt, outputJson } = child
    if (!isFinal(status) || finishedAt === undefined) return
    const how = status === 'COMPLETED' ? `ends with ${clipped(outputJson)}` : `ends as ${status}`
    this.#at(finishedAt, `${taskId} ${how}`, (now) =>
      this.#outside.runs.update(endOfChild(child, { by: OUTSIDE, now })),
    )
  }

  /** Something happens outside of the engines, at an instant of the history or now if that is over. */
  #at(instant: number, what: string, happen: (now: number) => unknown): void {
    const { timers } = this.#world
    const fire = (): void => void happen(timers.now + this.clockSkewMs)
    timers.set(fire, { at: Math.max(timers.now, instant - this.clockSkewMs), label: `${OUTSIDE}: ${what}` })
  }

  /** Notes when the questions of the run are asked, and answered if that is known at once. */
  #watched(storage: Storage): Storage {
    const { tokens } = storage
    const { told } = this
    return withOperations(storage, {
      'tokens.insert': (request) =>
        chain(tokens.insert(request), (inserted) => {
          if (request.record.kind === 'ONCE' && inserted !== 'stale') told.asked(inserted.record.id)
          return inserted
        }),
      'tokens.await': (request) => {
        told.asked(request.tokenId)
        return chain(tokens.await(request), (awaited) => {
          if (awaited.outcome === 'settled') told.answered(request.tokenId, awaited.token.status)
          return awaited
        })
      },
      'tokens.settle': (request) =>
        chain(tokens.settle(request), (settled) => {
          const record = settled === undefined || settled === 'stale' ? undefined : settled.record
          if (record?.kind === 'ONCE') told.answered(record.id, record.status)
          return settled
        }),
    })
  }

  async #effect(key: string, engine: Engine, process: Process): Promise<unknown> {
    const { effects } = this.#options
    const given = Object.hasOwn(effects, key) ? effects[key] : undefined
    const token = this.#replay.effect(key)
    const world = this.#world
    const takesMs = token === undefined ? 0 : this.#durationOf(token)
    const label = `${OUTSIDE}: ${callerName(world.names)} has done "${key}" for ${spell(takesMs)}`
    if (takesMs > 0)
      await this.#sleep(takesMs, { label, process, signal: this.#over.signal }).catch(() => undefined)
    // The engine waits for it at its end, and no code for its result.
    if (this.#over.signal.aborted) return undefined
    const result = given ?? (() => this.#resultOf(key, token, engine))
    return world.step(key, result, process)
  }

  #durationOf(token: TokenRecord): number {
    const end = effectEnd(this.#recorded, token, policyAttempt())
    // An effect without a known end lasted for longer than the run, or threw an error that the code has caught.
    return Math.max(0, (end?.at ?? this.#recorded.until) - token.createdAt)
  }

  #resultOf(key: string, token: TokenRecord | undefined, engine: Engine): unknown {
    const end = token && effectEnd(this.#recorded, token, policyAttempt())
    if (end === undefined) {
      this.#departed.resolve()
      throw new Error(`the history has no result of once("${key}")`)
    }
    if (end.kind === 'threw') throw errorFromJson(JSON.stringify(end.error))
    const notStored = this.#recorded.notStored.get(end.id)
    if (notStored !== undefined) throw new WaitpointError('ERR_NOT_SERIALIZABLE', notStored)
    return inside(engine).values.decode(fromJson(end.outputJson))
  }

  #clockOf(process: Process): FakedPorts['clock'] {
    const { names, timers } = this.#world
    return {
      now: () => timers.now + this.clockSkewMs,
      sleep: (duration, { signal } = {}) => {
        const label = `${callerName(names)} slept ${typeof duration === 'number' ? spell(duration) : duration}`
        return this.#sleep(parseDuration(duration, 'duration'), { label, process, signal })
      },
      signal: (duration) => {
        const aborted = new AbortController()
        const abort = (): void =>
          aborted.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
        const at = timers.now + parseDuration(duration, 'duration')
        timers.set(abort, { at, label: `${callerName(names)} slept ${duration}`, process })
        return aborted.signal
      },
    }
  }

  /** Time passes meanwhile: the run whose code sleeps is not busy. */
  async #sleep(
    durationMs: number,
    { label, process, signal }: { label: string; process: Process; signal?: AbortSignal | undefined },
  ): Promise<void> {
    const { timers } = this.#world
    if (process.isDead) return new Promise<never>(() => undefined)
    const { promise, resolve, reject } = createDeferred<void>()
    process.fallAsleep()
    const cancel = timers.set(() => resolve(), { at: timers.now + durationMs, label, process })
    const abort = (): void => {
      cancel()
      reject(signal?.reason)
    }
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
    try {
      await promise
    } finally {
      process.wakeUp()
      signal?.removeEventListener('abort', abort)
    }
  }
}

function policyAttempt(): number {
  return callingAttempt()?.record.policyAttempt ?? 1
}

const MOST_VALUE = 80

function clipped(json = 'nothing'): string {
  return json.length <= MOST_VALUE ? json : `${json.slice(0, MOST_VALUE)}…`
}
