import fc from 'fast-check'
import { Cron } from 'croner'
import { describe, expect, it } from 'vitest'
import { type Engine, type ScheduledPayload, task } from 'waitpoint'
import { createTestEngine, type TestClock, testClock, type TestEngine } from 'waitpoint/testing'
import type { Storage } from '../../src/contract/storage.ts'
import { abandonable, steadyStorage } from '../support/abandon.ts'
import { type AwayStorage, awayStorage } from '../support/away-storage.ts'
import { cases } from '../support/cases.ts'

type CatchUp = 'none' | 'last' | 'all'

/** A step of a program; durations are in tens of seconds. */
type Step =
  | { readonly do: 'pass' | 'suspend'; readonly time: number }
  | { readonly do: 'hand' }
  /** The storage of one engine is away, or its answers are lost; all processes may be suspended meanwhile. */
  | {
      readonly do: 'outage'
      readonly engine: number
      readonly isAnswer: boolean
      readonly times: readonly number[]
    }
  /** A process ends, while its storage is away if `away` is given, and another one begins after a while. */
  | {
      readonly do: 'restart'
      readonly engine: number
      readonly away: number | undefined
      readonly time: number
    }

interface Program {
  readonly engines: number
  readonly declared: Pattern
  readonly created: readonly string[]
  readonly catchUp: CatchUp
  readonly steps: readonly Step[]
}

interface Pattern {
  readonly cron: string
  readonly catchUp: CatchUp
}

const cron = fc.constantFrom('*/4 * * * *', '*/7 * * * *', '0,2,40 * * * *', '0 */2 * * *', '30 5 * * *')
const catchUp = fc.constantFrom<CatchUp[]>('none', 'last', 'all')
/** From seconds to hours, so that keys expire. */
const time = fc.oneof(fc.integer({ min: 1, max: 14 }), fc.integer({ min: 1, max: 400 }))
const engine = fc.nat({ max: 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('pass' as const, 'suspend' as const), time }),
  fc.record({ do: fc.constant('hand' as const) }),
  fc.record({
    do: fc.constant('outage' as const),
    engine,
    isAnswer: fc.boolean(),
    times: fc.array(time, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ do: fc.constant('restart' as const), engine, away: fc.option(time, { nil: undefined }), time }),
)
const program: fc.Arbitrary<Program> = fc.record({
  engines: fc.constantFrom(1, 2),
  declared: fc.record({ cron, catchUp }),
  created: fc.array(cron, { maxLength: 2 }),
  catchUp,
  steps: fc.array(step, { minLength: 1, maxLength: 6 }),
})

const UNIT_MS = 10_000
/** No step begins or ends at an instant, nor a minute after one. */
const START = Date.UTC(2026, 0, 1, 0, 0, 3)
const ON_TIME_MS = 60_000

/** What one schedule is to have runs for, as docs/queues-and-schedules.md#schedules has it. */
class ModelledSchedule {
  readonly #cron: Cron
  readonly #catchUp: CatchUp
  readonly runs = new Set<number>()
  /** For each engine what it owes while its storage is away, and what it has missed before that. */
  readonly #owed: number[][] = [[], []]
  readonly #gaps: (readonly [since: number, before: number])[][] = [[], []]

  constructor({ cron: pattern, catchUp: asked }: Pattern) {
    this.#cron = new Cron(pattern, { timezone: 'UTC', paused: true })
    this.#catchUp = asked
  }

  /** Time passes for an engine that is up. */
  passes(by: number, from: number, to: number): void {
    this.#owed[by]?.push(...this.#between(from, to))
  }

  /** An engine that is up is suspended. */
  isSuspended(by: number, from: number, to: number): void {
    const onTime = this.#between(to - ON_TIME_MS, to).filter((at) => at > from)
    if (this.#catchUp === 'all' || onTime.length === 0) this.#gaps[by]?.push([from, to - ON_TIME_MS])
    this.#owed[by]?.push(...onTime)
  }

  /** An engine that is up has its storage. */
  reaches(by: number): void {
    for (const [since, before] of this.#gaps[by] ?? []) this.#catchUpOn(since, before)
    for (const at of this.#owed[by] ?? []) this.runs.add(at)
    this.dies(by)
  }

  dies(by: number): void {
    this.#gaps[by] = []
    this.#owed[by] = []
  }

  begins(now: number): void {
    this.#catchUpOn(START, now)
  }

  #catchUpOn(since: number, before: number): void {
    const missed = this.#between(Math.max(since, ...this.runs), before)
    const most = { none: 0, last: 1, all: Infinity }[this.#catchUp]
    for (const at of missed.toReversed().slice(0, most)) this.runs.add(at)
  }

  #between(from: number, to: number): number[] {
    const instants: number[] = []
    for (let at = this.#next(from); at <= to; at = this.#next(at)) instants.push(at)
    return instants
  }

  #next(at: number): number {
    return this.#cron.nextRun(new Date(at))?.getTime() ?? Infinity
  }
}

interface Process {
  readonly away: AwayStorage
  readonly test: TestEngine
  readonly abandon: () => void
}

/** Executes a program, beside the model. */
class World {
  readonly #program: Program
  readonly #storage: Storage = steadyStorage()
  readonly #clock: TestClock = testClock({ mode: 'manual', start: new Date(START), maxSteps: 1e6 })
  readonly #processes: Process[] = []
  readonly models: readonly ModelledSchedule[]
  #begun = 0
  readonly #away = new Set<AwayStorage>()
  readonly #dead = new Set<number>()

  constructor(given: Program) {
    this.#program = given
    const created = given.created.map((pattern) => ({ cron: pattern, catchUp: given.catchUp }))
    this.models = [given.declared, ...created].map((pattern) => new ModelledSchedule(pattern))
  }

  async run(): Promise<void> {
    const { engines, created, steps } = this.#program
    for (let at = 0; at < engines; at += 1) this.#processes.push(await this.#begin())
    for (const [at, pattern] of created.entries())
      await this.#engine.schedules.create({
        task: 'remind',
        cron: pattern,
        externalId: `${at + 1}`,
        deduplicationKey: `${at + 1}`,
      })
    for (const one of steps) await this.#step(one)
    // Leases of processes that are gone end.
    await this.#pass(60)
  }

  /** The instants of each schedule, as their runs were stored, with the instant before it that each of them knows. */
  async stored(): Promise<string[][]> {
    const stored: string[][] = this.models.map(() => [])
    for await (const { id } of this.#engine.runs.list({ limit: 100 })) {
      const { output } = await this.#engine.runs.retrieve(id)
      const [schedule, ...instants] = String(output).split(' ')
      stored[Number(schedule)]?.unshift(instants.join(' '))
    }
    return stored
  }

  async end(): Promise<void> {
    for (const { test } of this.#processes) await test.close()
    await this.#clock[Symbol.asyncDispose]()
  }

  get #engine(): Engine {
    const [first] = this.#processes
    if (first === undefined) throw new Error('no process has begun')
    return first.test.engine
  }

  async #begin(): Promise<Process> {
    const run = ({ type, externalId, timestamp, lastTimestamp }: ScheduledPayload): string =>
      type === 'DECLARATIVE' && externalId === 'by hand'
        ? 'hand'
        : `${externalId ?? 0} ${timestamp.getTime()} ${lastTimestamp?.getTime() ?? 'none'}`
    const { declared, catchUp: ofCreated } = this.#program
    const tasks = [
      task({ id: 'report', schedule: declared, run }),
      task({ id: 'remind', schedule: { catchUp: ofCreated }, run }),
    ]
    const away = awayStorage(this.#storage)
    const ports = abandonable(this.#clock, away.storage)
    const test = await createTestEngine({
      tasks,
      clock: ports.clock,
      storage: ports.storage,
      seed: (this.#begun += 1),
      retention: { maxAge: '2000d' },
    })
    test.engine.on('error', () => undefined)
    await test.engine.ready()
    return { away, test, abandon: () => ports.abandon() }
  }

  async #step(one: Step): Promise<void> {
    switch (one.do) {
      case 'pass':
        return this.#pass(one.time)
      case 'suspend':
        return this.#suspend(one.time)
      case 'hand':
        return this.#byHand()
      case 'outage':
        return this.#outage(one)
      case 'restart':
        return this.#restart(one)
    }
  }

  async #pass(units: number): Promise<void> {
    const from = this.#clock.now()
    await this.#clock.advance(units * UNIT_MS)
    this.#note((model, by) => model.passes(by, from, this.#clock.now()))
  }

  async #suspend(units: number): Promise<void> {
    const from = this.#clock.now()
    await this.#clock.jump(units * UNIT_MS)
    this.#note((model, by) => model.isSuspended(by, from, this.#clock.now()))
  }

  async #byHand(): Promise<void> {
    const timestamp = new Date(this.#clock.now())
    const given = { type: 'DECLARATIVE', scheduleId: 'x', timestamp, timezone: 'UTC', upcoming: [] } as const
    for (const id of ['report', 'remind'])
      await this.#engine.tasks.trigger(id, { ...given, externalId: 'by hand' })
    await this.#pass(1)
  }

  async #outage({ engine: which, isAnswer, times }: Step & { readonly do: 'outage' }): Promise<void> {
    const { away } = this.#processAt(which)
    this.#away.add(away)
    away.goAway(isAnswer ? 'answers are lost' : 'nothing is done')
    for (const [at, units] of times.entries()) await (at % 2 === 0 ? this.#pass(units) : this.#suspend(units))
    away.comeBack()
    this.#away.delete(away)
    await this.#pass(1)
  }

  async #restart({
    engine: which,
    away: units,
    time: pause,
  }: Step & { readonly do: 'restart' }): Promise<void> {
    const { away, abandon } = this.#processAt(which)
    const by = which % this.#program.engines
    if (units !== undefined) {
      this.#away.add(away)
      away.goAway()
      await this.#pass(units)
    }
    abandon()
    this.#dead.add(by)
    for (const model of this.models) model.dies(by)
    await this.#pass(pause)
    this.#processes[by] = await this.#begin()
    this.#dead.delete(by)
    for (const model of this.models) model.begins(this.#clock.now())
    await this.#pass(1)
  }

  #processAt(which: number): Process {
    const process = this.#processes[which % this.#program.engines]
    if (process === undefined) throw new Error('no process has begun')
    return process
  }

  /** What becomes of the schedules in the processes that are up. */
  #note(happens: (model: ModelledSchedule, by: number) => void): void {
    for (const model of this.models) {
      const up = [...this.#processes.keys()].filter((by) => !this.#dead.has(by))
      for (const by of up) happens(model, by)
      for (const by of up) if (!this.#away.has(this.#processAt(by).away)) model.reaches(by)
    }
  }
}

describe('schedules', () => {
  it('have one run for each instant, in order, whatever becomes of processes and storage', async () => {
    await fc.assert(
      fc.asyncProperty(program, async (given) => {
        const world = new World(given)
        try {
          await world.run()
          const stored = await world.stored()
          for (const [at, { runs }] of world.models.entries()) {
            const instants = [...runs].sort((one, other) => one - other)
            const seen = stored[at]?.map((text) => Number(text.split(' ')[0])) ?? []
            // Engines that were cut off have the older instants later.
            if (given.engines > 1) expect(seen.sort((one, other) => one - other)).toEqual(instants)
            else
              expect(stored[at]).toEqual(
                instants.map((instant, index) => `${instant} ${instants[index - 1] ?? 'none'}`),
              )
          }
        } finally {
          await world.end()
        }
      }),
      { numRuns: cases(40) },
    )
  })
})
