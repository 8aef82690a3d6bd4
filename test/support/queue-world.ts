import {
  type AnyTask,
  type Engine,
  metadata,
  once,
  type RunTools,
  type Storage,
  task,
  type TaskLimit,
  tasks,
  wait,
} from 'waitpoint'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import type { RunRecord } from '../../src/contract/records.ts'
import { isFinal } from '../../src/contract/run-states.ts'
import { createEngineOn } from '../../src/core/engine.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { observedStorage } from '../../src/testing/storages/observed.ts'
import { isInMemory, steadyStorage } from './abandon.ts'
import { type ModelRun, PER_MS, QueueModel } from './queue-model.ts'
import type { Command, LimitPlan, Part, QueueCase, RunPlan } from './queue-programs.ts'
import { type TurnClock, turnClock } from './turn-clock.ts'

/** Each engine hears within a third of it of runs that others have put off, which are put off for longer. */
const LEASE_MS = 2_400
const RETRY_MS = 3_000
const SLEEP_MS = 4_000
const PASS_MS = 900
const KEPT = '999d'
/** Steps in which all ends: some ten times what it takes. */
const MOST_STEPS = 2_000
const LAST_EVENTS = 60

/** A function that works until the world lets it go on. */
interface Work {
  readonly run: ModelRun
  readonly goOn: () => void
}

interface Question {
  readonly run: ModelRun
  readonly id: string
}

const FAILURE = new Error('as planned')

/** Engines on one storage, with queues, and what is done to them: one thing at a time, until nothing goes on any more. */
export class QueueWorld {
  readonly #plan: QueueCase
  readonly #clock: TurnClock = turnClock()
  readonly #storage: Storage = steadyStorage()
  readonly #model: QueueModel
  readonly #engines: readonly Engine[]
  readonly #working = new Set<Work>()
  readonly #questions = new Set<Question>()
  /** The ids of runs, by their numbers. */
  readonly #ids = new Map<number, string>()
  readonly #events: string[] = []
  /** No two instants are equal. */
  #instants = 0

  constructor(plan: QueueCase) {
    // Storages learn of further limits one after the other.
    const { limits } = this.#storage
    this.#plan = limits === true ? plan : withoutLimits(plan)
    this.#model = new QueueModel(this.#plan, { now: () => this.#clock.now(), lagMs: LEASE_MS / 3 })
    this.#engines = plan.engines.map((concurrency, number) => {
      const storage = isInMemory() ? this.#storage : observedStorage(this.#storage, this.#clock)
      return createEngineOn(
        { clock: this.#clock, storage, random: seededRandom(number) },
        { tasks: this.#tasks(number), concurrency, leaseMs: LEASE_MS, retention: { maxAge: KEPT } },
      )
    })
  }

  /** Does what is planned, and then lets all runs end. Answers how many there were. */
  async live(): Promise<number> {
    try {
      for (const engine of this.#engines) await this.#done(engine.ready())
      for (const command of this.#plan.commands) await this.#step(command)
      await this.#end()
      await this.#judge()
      return this.#model.runs.length
    } catch (error) {
      const story = this.#events.slice(-LAST_EVENTS).join('\n')
      throw new Error(`${String(error)}\n${story}`, { cause: error })
    } finally {
      for (const { goOn } of this.#working) goOn()
      await this.#clock.settle()
      for (const engine of this.#engines) await this.#done(engine.close())
    }
  }

  #tasks(engine: number): readonly AnyTask[] {
    return this.#plan.queues.map(({ limit, rate, own }, queue) =>
      task({
        id: `task ${queue}`,
        queue: {
          name: `queue ${queue}`,
          ...(limit === undefined ? {} : { concurrencyLimit: limit }),
          ...(rate === undefined ? {} : { rate: { limit: rate, per: PER_MS } }),
        },
        limits: [
          ...(own === undefined ? [] : [limitOf(own)]),
          ...this.#model.limitsOf(queue).map((at) => ({
            name: `limit ${at}`,
            ...limitOf(this.#plan.limits[at] ?? { total: 0, perKey: 0 }),
          })),
        ],
        retry: { maxAttempts: 2, minTimeoutInMs: RETRY_MS, randomize: false },
        run: async (number: number, tools) => {
          const run = this.#model.runs[number]
          if (run === undefined) throw new Error(`no run ${number}`)
          this.#ids.set(number, tools.ctx.run.id)
          await this.#program(run, engine, tools)
        },
      }),
    )
  }

  async #program(run: ModelRun, engine: number, { ctx, signal }: RunTools): Promise<void> {
    this.#goesOn(run, engine)
    try {
      await this.#work(run)
      signal.throwIfAborted()
      // After a retry it goes on behind the part that has failed.
      const from = ctx.attempt.number === 1 ? 0 : 1 + run.plan.parts.findIndex(({ kind }) => kind === 'fail')
      for (const [at, part] of run.plan.parts.entries()) {
        if (at < from) continue
        if (part.kind === 'fail' && ctx.attempt.number === 1) throw FAILURE
        await this.#do(run, part, { engine, place: `${run.number} ${at}` })
        signal.throwIfAborted()
      }
      this.#note(`${run.number} ends`)
      this.#model.ended(run)
    } catch (error) {
      this.#note(`${run.number} fails: ${String(error)}`)
      if (error === FAILURE) this.#model.failed(run, this.#clock.now() + RETRY_MS)
      else this.#model.ended(run)
      throw error
    }
  }

  /** A part and the work after it. */
  async #do(
    run: ModelRun,
    part: Part,
    { engine, place }: { readonly engine: number; readonly place: string },
  ): Promise<void> {
    const model = this.#model
    const effect = async (): Promise<void> => {
      this.#goesOn(run, engine)
      await this.#work(run)
      model.closes(run)
    }
    const rest = (until?: number): void => {
      this.#note(`${run.number} waits`)
      model.waits(run, until)
    }
    switch (part.kind) {
      case 'fail':
        return
      case 'sleep': {
        const until = this.#instant(SLEEP_MS)
        rest(until)
        await wait.until({ date: new Date(until) })
        break
      }
      case 'child': {
        const child = model.triggered(part.child, this.#due(part.child), run)
        const waited = tasks.triggerAndWait(`task ${child.queue}`, child.number, this.#options(child))
        rest()
        await waited
        break
      }
      default: {
        const { id } = await wait.createToken({ timeout: KEPT })
        const question = { run, id }
        this.#questions.add(question)
        if (part.kind === 'signal') {
          await wait.signal(id)
          await this.#work(run)
          this.#questions.delete(question)
          return
        }
        const beside = this.#beside(part.kind, { run, place, effect })
        rest()
        await Promise.all([beside, wait.forToken(id).then(() => this.#goesOn(run, engine))])
      }
    }
    this.#goesOn(run, engine)
    await this.#work(run)
  }

  /** What a run does beside a wait. */
  async #beside(
    kind: 'ask' | 'effect' | 'source' | 'late',
    {
      run,
      place,
      effect,
    }: { readonly run: ModelRun; readonly place: string; readonly effect: () => Promise<void> },
  ): Promise<void> {
    const model = this.#model
    if (kind === 'ask') return
    if (kind === 'effect') {
      model.opens(run)
      await once(place, effect)
    } else if (kind === 'source') {
      model.opens(run)
      const over = createDeferred<undefined>()
      await metadata.stream(
        place,
        (async function* () {
          await effect().finally(() => over.resolve(undefined))
          yield* []
        })(),
      )
      await over.promise
    } else {
      // The engine sees nothing of this.
      await this.#work(run)
      this.#note(`${run.number} calls`)
      model.calls(run)
      model.opens(run)
      await once(place, effect)
    }
  }

  #goesOn(run: ModelRun, engine: number): void {
    this.#note(`${run.number} goes on in ${engine} (${run.state})`)
    this.#model.goesOn(run, engine)
  }

  async #work(run: ModelRun): Promise<void> {
    const { promise, resolve } = createDeferred<undefined>()
    const work = { run, goOn: () => resolve(undefined) }
    this.#working.add(work)
    await promise
  }

  #note(event: string): void {
    this.#events.push(`${this.#clock.now() % 10_000_000} ${event}`)
  }

  /** An instant after so long, and no other is equal. */
  #instant(ms: number): number {
    return this.#clock.now() + ms + (this.#instants += 1)
  }

  #due({ delay }: RunPlan): number {
    return delay === undefined ? this.#clock.now() : this.#instant(delay * 1_000)
  }

  #options({ number, plan, dueAt }: ModelRun): Record<string, unknown> {
    const { key, priority, ttl } = plan
    return {
      priority,
      tags: `${number}`,
      ...(key === undefined ? {} : { concurrencyKey: key }),
      ...(ttl === undefined ? {} : { ttl }),
      ...(dueAt === undefined ? {} : { delay: new Date(dueAt) }),
    }
  }

  async #step(command: Command): Promise<void> {
    this.#note(`-- ${JSON.stringify(command)}`)
    await this.#act(command)
    await this.#clock.settle()
    this.#model.quiet()
    const { wrong } = this.#model
    if (wrong.length > 0) throw new Error(wrong.join('; '))
  }

  async #act(command: Command): Promise<void> {
    const model = this.#model
    switch (command.kind) {
      case 'trigger':
        return this.#trigger(command.runs, this.#engine(command))
      case 'finish':
        return this.#finish(command.which)
      case 'answer':
        return this.#answer(command.which, this.#engine(command))
      case 'cancel': {
        const live = model.runs.filter(({ state }) => state !== 'over')
        const run = live[command.which % live.length]
        if (run === undefined) return
        const id = await this.#id(run)
        model.canceled(run)
        return this.#done(this.#engine(command).runs.cancel(id))
      }
      case 'later':
        return this.#pass(model.next())
      case 'pass':
        return this.#pass(Math.min(model.next() - 1, this.#instant(PASS_MS)))
      case 'look':
        return this.#look(command.engine % this.#engines.length)
      default:
        return this.#set(command)
    }
  }

  #engine({ engine }: { readonly engine: number }): Engine {
    const found = this.#engines[engine % this.#engines.length]
    if (found === undefined) throw new Error('no engine')
    return found
  }

  async #trigger(plans: readonly RunPlan[], engine: Engine): Promise<void> {
    // The order of runs that two engines trigger in one millisecond is open.
    await this.#pass(this.#clock.now() + 1)
    const runs = plans.map((plan) => this.#model.triggered(plan, this.#due(plan)))
    const [first] = runs
    // A batch is one of runs of one task.
    const isBatch = first !== undefined && runs.length > 1 && runs.every(({ queue }) => queue === first.queue)
    if (isBatch) {
      const items = runs.map((run) => ({ payload: run.number, options: this.#options(run) }))
      return this.#done(engine.tasks.batchTrigger(`task ${first.queue}`, items))
    }
    for (const run of runs)
      await this.#done(engine.tasks.trigger(`task ${run.queue}`, run.number, this.#options(run)))
  }

  async #finish(which: number): Promise<void> {
    const work = [...this.#working][which % this.#working.size]
    if (work === undefined) return
    this.#note(`${work.run.number} finishes its work`)
    this.#working.delete(work)
    work.goOn()
  }

  async #answer(which: number, engine: Engine): Promise<void> {
    const questions = [...this.#questions].filter(
      ({ run }) => run.state !== 'over' && run.state !== 'canceled',
    )
    const question = questions[which % questions.length]
    if (question === undefined) return
    this.#note(`${question.run.number} is answered`)
    this.#questions.delete(question)
    this.#model.answered(question.run)
    await this.#done(engine.wait.completeToken(question.id))
  }

  async #pass(at: number): Promise<void> {
    const ms = at - this.#clock.now()
    if (!(ms > 0) || ms === Infinity) return
    this.#clock.pass(ms)
    this.#model.instant()
    this.#clock.pass(-ms)
    await this.#clock.advance(ms)
  }

  async #set(command: Extract<Command, { readonly kind: 'pause' | 'limit' | 'rate' }>): Promise<void> {
    const { queues, limits } = this.#model
    const at = command.queue % (queues.length + (command.kind === 'rate' ? 0 : limits.length))
    const name = at < queues.length ? `queue ${at}` : `limit ${at - queues.length}`
    const [queue, handle] = [queues[at] ?? limits[at - queues.length], this.#engine(command).queue(name)]
    if (queue === undefined) return
    if (command.kind === 'pause') {
      queue.isPaused = command.isPaused
      await this.#done(command.isPaused ? handle.pause() : handle.resume())
    } else if (command.kind === 'limit') {
      queue.limit = command.limit
      await this.#done(command.limit === undefined ? handle.resetLimit() : handle.setLimit(command.limit))
    } else if ('rate' in queue) {
      queue.rate = command.rate
      await this.#done(handle.setRate({ limit: command.rate, per: PER_MS }))
    }
  }

  /** What an engine tells is what the model says. */
  async #look(number: number): Promise<void> {
    const [model, engine] = [this.#model, this.#engines[number]]
    if (engine === undefined) return
    await this.#learn()
    for (const [at] of model.queues.entries()) {
      const told = await this.#answerOf(engine.queue(`queue ${at}`).retrieve())
      const queued = model.standing('queued').filter(({ queue, wasDelayed }) => queue === at && !wasDelayed)
      if (told.queued !== queued.length)
        model.wrong.push(`${told.queued} of ${queued.length} are told as queued`)
    }
    const { executing } = engine.stats()
    if (executing !== model.used(number))
      model.wrong.push(`${executing} slots of ${model.used(number)} are told as used`)
    for (const run of model.standing('queued')) await this.#explainQueued(run, number)
    for (const run of model.standing('ready')) await this.#explainReady(run)
  }

  async #explainQueued(run: ModelRun, number: number): Promise<void> {
    const [model, engine, id] = [this.#model, this.#engines[number], this.#ids.get(run.number)]
    if (engine === undefined || id === undefined) return
    const told = await this.#answerOf(engine.runs.explain(id))
    if (told.reason !== 'queued') {
      model.wrong.push(`run ${run.number} is queued, and told as ${told.sentence}`)
      return
    }
    const holders = model.holdersBeside(run)
    const nextStartAt = model.nextStartAt(run)
    const expected = {
      isPaused: model.isPaused(run),
      limit: model.limitOf(run),
      heldBy: holders.length,
      ahead: model.aheadInLane(run),
      nextStartAt: nextStartAt > this.#clock.now() ? nextStartAt : undefined,
    }
    const said = {
      isPaused: told.isPaused,
      limit: told.limit ?? Infinity,
      heldBy: told.heldBy.length,
      ahead: told.ahead,
      nextStartAt: told.nextStartAt?.getTime(),
    }
    this.#expectSame(run, said, expected)
    const { sentence } = told
    if (!this.#reason(run, number).test(sentence))
      model.wrong.push(`run ${run.number} is told as: ${sentence}`)
  }

  /** Why a queued run does not begin, as an engine sees it. */
  #reason(run: ModelRun, engine: number): RegExp {
    const model = this.#model
    if (model.isPaused(run)) return /is paused/
    if (!model.isLaneOpen(run)) return /\(limit \d, held by/
    const [limit] = model.fullLimits(run)
    if (limit !== undefined) return new RegExp(`limit "${limit}" is paused|limit "${limit}": .* held by`)
    if (model.nextStartAt(run) > this.#clock.now()) return /its rate is/
    return model.hasRoom(engine) ? /is claimed by the next engine/ : /of this engine are taken/
  }

  async #explainReady(run: ModelRun): Promise<void> {
    const [model, engine, id] = [this.#model, this.#engines[run.engine ?? 0], this.#ids.get(run.number)]
    if (engine === undefined || id === undefined) return
    const { sentence } = await this.#answerOf(engine.runs.explain(id))
    const isOfQueue =
      sentence.endsWith('with the next free slot of its queue.') ||
      model.fullLimits(run).some((limit) => sentence.includes(`limit "${limit}"`))
    const place = sentence.endsWith('with the next free slot.')
      ? '0'
      : /after (\d+) runs? before/.exec(sentence)?.[1]
    const { least, most } = model.aheadInEngine(run)
    // A slot of eight may go to a new run.
    const isPlaced = place !== undefined && Number(place) >= least && Number(place) <= most + 1
    const hasRoom = model.hasRoom(run.engine ?? 0)
    const isSo = model.isPaused(run)
      ? sentence.includes('is resumed')
      : isPlaced
        ? model.isOpen(run) || !hasRoom
        : isOfQueue && !model.isOpen(run)
    if (!isSo) model.wrong.push(`run ${run.number} is told as: ${sentence} (${least} to ${most})`)
  }

  #expectSame(run: ModelRun, said: unknown, expected: unknown): void {
    const [one, other] = [JSON.stringify(said), JSON.stringify(expected)]
    if (one !== other) this.#model.wrong.push(`run ${run.number} is told as ${one}, not ${other}`)
  }

  async #id(run: ModelRun): Promise<string> {
    if (!this.#ids.has(run.number)) await this.#learn()
    const id = this.#ids.get(run.number)
    if (id === undefined) throw new Error(`run ${run.number} is not stored`)
    return id
  }

  async #learn(): Promise<void> {
    for (const { id, payloadJson } of await this.#records()) this.#ids.set(Number(payloadJson), id)
  }

  async #records(): Promise<readonly RunRecord[]> {
    return (await this.#storage.runs.list({}, { limit: 1_000 })).records
  }

  /** Nothing holds runs back any more, and all that they wait for comes. */
  async #end(): Promise<void> {
    const { queues, limits } = this.#model
    for (let queue = 0; queue < queues.length + limits.length; queue += 1) {
      await this.#step({ kind: 'pause', queue, isPaused: false, engine: 0 })
      await this.#step({ kind: 'limit', queue, limit: 2, engine: 0 })
    }
    for (let left = MOST_STEPS; this.#model.runs.some(({ state }) => state !== 'over'); left -= 1) {
      if (left === 0) throw new Error('runs have no end')
      const kind = this.#working.size > 0 ? 'finish' : this.#model.next() < Infinity ? 'later' : 'answer'
      await this.#step({ kind: left % 3 === 0 ? 'answer' : kind, which: left, engine: 0 })
    }
  }

  async #judge(): Promise<void> {
    const wrong: string[] = []
    const records = await this.#records()
    for (const { payloadJson, status, id } of records) {
      const { end } = this.#model.runs[Number(payloadJson)] ?? {}
      if (status !== end || !isFinal(status)) wrong.push(`${id} (${payloadJson}) is ${status}, not ${end}`)
    }
    if (records.length !== this.#model.runs.length) wrong.push(`${records.length} runs are stored`)
    if (wrong.length > 0) throw new Error(wrong.join('; '))
  }

  async #done(call: Promise<unknown>): Promise<void> {
    await this.#answerOf(call)
  }

  /** A call may need time to pass on a storage that is far away: the clock stands still. */
  async #answerOf<Answer>(call: Promise<Answer>): Promise<Answer> {
    const [answer] = await Promise.all([call, this.#clock.settle()])
    return answer
  }
}

function limitOf({ total, perKey }: LimitPlan): TaskLimit {
  return { ...(total === undefined ? {} : { total }), ...(perKey === undefined ? {} : { perKey }) }
}

function withoutLimits({ queues, ...plan }: QueueCase): QueueCase {
  return { ...plan, limits: [], queues: queues.map((queue) => ({ ...queue, own: undefined, shared: [] })) }
}
