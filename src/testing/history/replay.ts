import { seededRandom } from '../../clock/seeded-random.ts'
import type { TestClock } from '../../clock/test.ts'
import { StillBusyError } from '../../clock/virtual/errors.ts'
import type { AnyTask } from '../../api/run.ts'
import { WaitpointError } from '../../api/errors.ts'
import { isFinal } from '../../contract/run-states.ts'
import type { Codec } from '../../api/codec.ts'
import { defined } from '../../primitives/defined.ts'
import type { RunRecord, RunStatus, TokenRecord } from '../../contract/records.ts'
import { callingAttempt, createObservedEngine, inside } from '../../core/inside.ts'
import type { Engine } from '../../core/engine.ts'
import { errorFromJson, fromJson } from '../../api/serialize.ts'
import { fakeGlobals } from '../fixture/faked-globals.ts'
import { rememberingClock } from '../fixture/kept-records.ts'
import { watchRequests } from '../fixture/run-requests.ts'
import { newQuestion, tokenQuestion } from '../in-flight/question.ts'
import { testClock } from '../test-clock.ts'
import { historyDeparture, type Difference, type HistoryDeparture } from './departure.ts'
import { HeldCalls, LONG } from './held-calls.ts'
import { type RecordedAnswer, RecordedAnswers } from './recorded-answers.ts'
import { RecordedQuestions } from './recorded-questions.ts'
import type { RecordedRun } from './recorded-run.ts'
import { ReplayStorage } from './replay-storage.ts'
import { endOf, isSameEnd, type RunEnd } from './run-end.ts'
import type { OpenOrders } from './open-orders.ts'

/** The function has not ended these. */
const ENDED_FROM_OUTSIDE: readonly RunStatus[] = ['CANCELED', 'TIMED_OUT', 'CRASHED', 'EXPIRED']
/** So many timers may fire between two answers. */
const MOST_TIMERS = 25_000
/** No call of a run is taken to last longer. */
const LONGEST_CALL_MS = 1_000

export interface ReplayOptions {
  readonly tasks: readonly AnyTask[]
  readonly codec: Codec | undefined
  readonly effects: Readonly<Record<string, () => unknown>>
  readonly fakeGlobals: boolean
  readonly patienceMs: number
  readonly isLenient: boolean
  /** Whether each child that `endedAtOnce` does so before the call that triggers it returns. */
  readonly isHasty: boolean
  /** None: the likely order. */
  readonly orders: OpenOrders | undefined
}

/** An effect that was called and whose answer has not come. */
interface OpenEffect {
  readonly key: string
  readonly answer: (settle: () => unknown) => void
}

/** One execution of a recorded run, in virtual time: each of its questions is answered as in the history. */
export class Replay {
  readonly #recorded: RecordedRun
  readonly #options: ReplayOptions
  readonly #clock: TestClock
  readonly #storage: ReplayStorage
  readonly #questions: RecordedQuestions
  readonly #answers: RecordedAnswers
  /** By the id of its token. Those whose end the history does not know stay. */
  readonly #effects = new Map<string, OpenEffect>()
  readonly #held: HeldCalls
  #departure: HistoryDeparture | undefined
  /** Ends the calls that wait for code to come to rest: it awaits an answer that does not come. */
  readonly #departed = new AbortController()
  /** The key of the first effect that is only supposed to have thrown. */
  #supposed: string | undefined

  constructor(recorded: RecordedRun, options: ReplayOptions) {
    this.#recorded = recorded
    this.#options = options
    this.#clock = testClock({
      mode: 'manual',
      start: recorded.record.updatedAt,
      ioGraceMs: options.patienceMs,
      onUnanswered: 'timeout',
    })
    this.#held = new HeldCalls(this.#clock)
    this.#questions = new RecordedQuestions(recorded, options)
    this.#answers = new RecordedAnswers(recorded, { held: this.#held, orders: options.orders })
    this.#storage = new ReplayStorage({
      recorded,
      questions: this.#questions,
      answers: this.#answers,
      departed: (difference) => this.#depart(difference),
      returns: (questionId) => (options.orders === undefined ? undefined : this.#held.hold(questionId)),
      endsAtOnce: (child) => options.isHasty && endedAtOnce(child),
    })
  }

  /** How many questions of the history the present code has asked. */
  get asked(): number {
    return this.#questions.taken
  }

  async run(): Promise<{
    readonly end: RunEnd | undefined
    readonly departure: HistoryDeparture | undefined
  }> {
    const random = seededRandom(`replay of ${this.#recorded.record.id}`)
    const clock = this.#clock
    await this.#storage.begin()
    const { tasks, codec, patienceMs } = this.#options
    const engine = createObservedEngine(
      { clock: rememberingClock(clock, {}), storage: this.#storage.storage, random },
      { tasks, ...defined({ codec }) },
      { effect: (key) => this.#effectFor(key) },
    )
    const unwatch = watchRequests(engine, { clock, graceMs: patienceMs })
    const unfake = this.#options.fakeGlobals ? fakeGlobals(engine, { clock, random }) : undefined
    try {
      await engine.ready()
      await this.#goThrough(engine)
      const end = this.#departure === undefined ? await this.#end() : undefined
      return { end, departure: this.#departure }
    } finally {
      await this.#close(engine)
      unfake?.()
      unwatch()
    }
  }

  /** Answers one question after the other, until none is left or the run has ended. */
  async #goThrough(engine: Engine): Promise<void> {
    const { signal } = this.#departed
    try {
      await this.#clock.settle({ signal })
      for (let timers = 0; timers < MOST_TIMERS;) {
        const record = await this.#storage.run()
        if (this.#departure !== undefined || isFinal(record.status)) return
        // What an attempt that has failed asked is awaited no more.
        const attempt = record.policyAttempt + (record.status === 'DELAYED' ? 1 : 0)
        const next = this.#answers.nextAt(attempt)
        if (this.#letReturn(attempt)) {
          await this.#clock.settle({ signal })
          continue
        }
        const at = Math.max(this.#clock.now(), next ?? this.#lastInstant)
        const timer = this.#nextTimer
        if (timer !== undefined && timer <= at) {
          // It may lead to other questions.
          await this.#clock.advanceTo(Math.max(this.#clock.now(), timer), { signal })
          timers += 1
          continue
        }
        if (next !== undefined) await this.#clock.advanceTo(at, { signal })
        const answer = this.#answers.take(attempt)
        if (answer === undefined) return
        if (answer.at > this.#clock.now()) await this.#clock.advanceTo(answer.at, { signal })
        await this.#give(answer, engine)
        await this.#clock.settle({ signal })
        timers = 0
      }
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof StillBusyError)) throw error
      const { policyAttempt } = await this.#storage.run()
      this.#depart({ reason: 'unreached', expected: this.#questions.left(policyAttempt)[0] })
    }
  }

  /**
   * Lets calls return that are held: all at once, or one before the others, or none before the next answer. Answers whether
   * any does.
   */
  #letReturn(policyAttempt: number): boolean {
    const { count } = this.#held
    if (count === 0) return false
    const latest = this.#clock.now() + LONGEST_CALL_MS
    const mayAnswer = this.#answers.areNear(policyAttempt, latest, { ofHeld: false })
    const mayPart = count > 1 && this.#answers.areNear(policyAttempt, latest, { ofHeld: true })
    const ways = 1 + (mayAnswer ? 1 : 0) + (mayPart ? count : 0)
    const way = this.#options.orders?.choose(ways) ?? 0
    if (mayAnswer && way === 1) return false
    if (way === 0) this.#held.letAllReturn()
    else this.#held.letReturn(way - (mayAnswer ? 2 : 1))
    return true
  }

  /** A run that had ended goes on for as long as it takes; one that had not, until its storage was read. */
  get #lastInstant(): number {
    return isFinal(this.#recorded.end.status) ? Infinity : this.#recorded.until
  }

  /** The next timer that the run waits for. */
  get #nextTimer(): number | undefined {
    return this.#clock.pending().find(({ background, label }) => !background && label !== `sleep(${LONG})`)
      ?.at
  }

  async #give(answer: RecordedAnswer, engine: Engine): Promise<void> {
    const { host, news, values } = inside(engine)
    const act = { by: host.owner, now: this.#clock.now() }
    switch (answer.kind) {
      case 'token': {
        const settled = await this.#storage.settle(answer.record, act)
        if (settled !== undefined) news.tokenSettled(settled)
        return
      }
      case 'child': {
        const ended = await this.#storage.endChild(answer.record, act)
        if (ended !== undefined) news.runEnded(ended)
        return
      }
      case 'effect': {
        const notStored = this.#recorded.notStored.get(answer.id)
        this.#effects.get(answer.id)?.answer(() => {
          if (notStored !== undefined) throw new WaitpointError('ERR_NOT_SERIALIZABLE', notStored)
          return values.decode(fromJson(answer.outputJson))
        })
        return
      }
      case 'threw':
        this.#effects.get(answer.id)?.answer(() => {
          throw errorFromJson(JSON.stringify(answer.error))
        })
        return
      case 'supposed': {
        const { key = '', answer: end } = this.#effects.get(answer.id) ?? {}
        this.#supposed ??= key
        end?.(() => {
          throw new Error(`the effect of once("${key}") threw an error that the storage did not keep`)
        })
      }
    }
  }

  /** Effects do not happen: they end when they did, as they did. */
  #effectFor(key: string): () => unknown {
    this.#joinEffect(key, callingAttempt()?.record.policyAttempt ?? 1)
    const given = Object.hasOwn(this.#options.effects, key) ? this.#options.effects[key] : undefined
    return given ?? (() => this.#effect(key))
  }

  /** The engine lets an attempt join an effect that an earlier one has begun: it ends as that of this attempt did. */
  #joinEffect(key: string, policyAttempt: number): void {
    const token = this.#storage.effect(key)
    if (token !== undefined && this.#effects.has(token.id)) this.#answers.effectCalled(token, policyAttempt)
  }

  async #effect(key: string): Promise<unknown> {
    const token = this.#storage.effect(key)
    if (token === undefined) this.#depart(unknownEffect(key))
    else this.#answers.effectCalled(token, callingAttempt()?.record.policyAttempt ?? 1)
    const ended = new AbortController()
    const id = token?.id ?? key
    let settle: (() => unknown) | undefined
    const answer = (answered: () => unknown): void => {
      settle = answered
      ended.abort()
    }
    this.#effects.set(id, { key, answer })
    // The run is not busy while its code sleeps on the clock.
    await this.#clock.sleep(LONG, { signal: ended.signal }).catch(() => undefined)
    this.#effects.delete(id)
    return settle?.()
  }

  /** The end, and the departure that explains it if it is another one. */
  async #end(): Promise<RunEnd> {
    const record = await this.#storage.run()
    const waits = await this.#storage.waits()
    const end = endOf(record, waits)
    const { end: recorded } = this.#recorded
    if (isFinal(record.status)) {
      if (!isSameEnd(end, recorded)) this.#explain(record.policyAttempt)
      return end
    }
    // What ended it came from outside.
    if (ENDED_FROM_OUTSIDE.includes(recorded.status)) return recorded
    if (isFinal(recorded.status)) this.#depart(this.#unanswered(waits))
    return end
  }

  #explain(policyAttempt: number): void {
    const [expected] = this.#questions.left(policyAttempt)
    if (this.#supposed !== undefined) this.#depart(unknownEffect(this.#supposed))
    else if (expected !== undefined) this.#depart({ reason: 'not-asked', expected })
  }

  #unanswered([wait]: readonly TokenRecord[]): Difference {
    if (this.#supposed !== undefined) return unknownEffect(this.#supposed)
    if (wait === undefined) return { reason: 'unreached' }
    return { reason: 'unanswered', asked: newQuestion(tokenQuestion(wait)) }
  }

  #depart(difference: Difference): void {
    this.#departure ??= historyDeparture(this.#recorded.record, difference)
    this.#departed.abort()
  }

  /** An effect that is under way would hold the engine up. */
  async #close(engine: Engine): Promise<void> {
    this.#storage.stop()
    const over = (): never => {
      throw new Error('the replay is over')
    }
    for (const { answer } of [...this.#effects.values()]) answer(over)
    this.#held.letAllReturn()
    await engine.close()
  }
}

/** In one process, a child may end before the call that triggers it returns. */
export function endedAtOnce({ status, createdAt, finishedAt = Infinity }: RunRecord): boolean {
  return isFinal(status) && finishedAt - createdAt < LONGEST_CALL_MS
}

function unknownEffect(key: string): Difference {
  return { reason: 'effect', asked: { call: 'once', name: key } }
}
