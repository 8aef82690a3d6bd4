import { describe, expect, it } from 'vitest'
import { type AnyTask, createEngine, type Engine, once, type RunExplanation, task, wait } from 'waitpoint'
import {
  createTestEngine,
  type TestClock,
  testClock,
  type TestEngine,
  type TestEngineOptions,
} from 'waitpoint/testing'
import { rejection } from '../../support/body-task.ts'
import { abandonable, steadyStorage } from '../../support/abandon.ts'

interface World {
  readonly clock: TestClock
  readonly engine: Engine
  /** Another engine on the clock and the storage, for as long as the test. */
  readonly other: (options: TestEngineOptions) => Promise<Engine>
}

/** One way to stand still: how a run comes to it, and what is said of it. */
interface Standstill {
  readonly tasks: readonly AnyTask[]
  readonly concurrency?: number
  readonly execute?: boolean
  readonly begin: (world: World) => Promise<{ readonly id: string } | undefined>
  /** The sentence, with `ID` for the id of the run asked about, and `*` for what is random. */
  readonly sentence: string
  readonly explained: Partial<RunExplanation>
}

const START = Date.UTC(2030, 0, 1)
const at = (ms: number): string => new Date(START + ms).toISOString()
/** The clock of the test that is under way. */
let clockOfTest: TestClock
const forever = (): Promise<void> => clockOfTest.sleep('365d')
const endless = (id: string, queue?: { name: string; concurrencyLimit?: number }): AnyTask =>
  task({
    id,
    ...(queue === undefined ? {} : { queue }),
    run: () => forever(),
  })
const failing = (message: string): AnyTask =>
  task({
    id: 'failing',
    retry: { maxAttempts: 5, minTimeoutInMs: 60_000, randomize: false },
    run: (_payload: null): never => {
      throw new Error(message)
    },
  })
const begin =
  (id: string, ...options: readonly Parameters<Engine['tasks']['trigger']>[2][]) =>
  async ({ engine, clock }: World): Promise<{ readonly id: string } | undefined> => {
    let last: { readonly id: string } | undefined
    for (const each of options.length === 0 ? [{}] : options) {
      last = await engine.tasks.trigger(id, null, each)
      await clock.settle()
    }
    return last
  }

const standstills: Readonly<Record<string, Standstill>> = {
  'is delayed': {
    tasks: [endless('a')],
    begin: begin('a', { delay: '1h' }),
    sentence: `The run is delayed until ${at(3_600_000)}.`,
    explained: { reason: 'delayed', until: new Date(START + 3_600_000), status: 'DELAYED' },
  },
  'is between two attempts': {
    tasks: [failing('busy')],
    begin: begin('failing'),
    sentence: `The run begins attempt 2 of 5 at ${at(60_000)}, because the last one failed: busy.`,
    explained: { reason: 'retrying', attempt: 2, maxAttempts: 5, at: new Date(START + 60_000) },
  },
  'is between two attempts of its own number': {
    tasks: [failing('')],
    begin: begin('failing', { maxAttempts: 2 }),
    sentence: `The run begins attempt 2 of 2 at ${at(60_000)}, because the last one failed: Error.`,
    explained: { reason: 'retrying', attempt: 2, maxAttempts: 2, status: 'DELAYED' },
  },
  'is first in line for a full queue': {
    tasks: [endless('a', { name: 'mail', concurrencyLimit: 1 })],
    begin: begin('a', {}, {}),
    sentence: 'The run is queued in queue "mail" (limit 1, held by run_*).',
    explained: { reason: 'queued', queue: 'mail', limit: 1, ahead: 0, isMore: false, status: 'QUEUED' },
  },
  'is behind others of a full queue, of another task too': {
    tasks: [endless('a', { name: 'mail', concurrencyLimit: 1 }), endless('b', { name: 'mail' })],
    begin: async (world) => {
      await begin('a', {}, {})(world)
      return begin('b', {}, { ttl: '1h' })(world)
    },
    sentence: `The run is queued behind 2 runs of queue "mail" (limit 1, held by run_*); it expires at ${at(3_600_000)}.`,
    explained: { reason: 'queued', ahead: 2, expiresAt: new Date(START + 3_600_000) },
  },
  'is behind those of a higher priority, and before those of a lower one': {
    tasks: [endless('a', { name: 'mail', concurrencyLimit: 1 })],
    begin: async (world) => {
      await begin('a', {}, { priority: -10 }, { priority: -5 }, { priority: 5 })(world)
      const run = await begin('a')(world)
      await begin('a', {}, { priority: 60 })(world)
      return run
    },
    sentence: 'The run is queued behind 2 runs of queue "mail" (limit 1, held by run_*).',
    explained: { reason: 'queued', ahead: 2 },
  },
  'is behind others under its key': {
    tasks: [endless('a', { name: 'mail', concurrencyLimit: 1 })],
    begin: begin(
      'a',
      { concurrencyKey: 'x' },
      { concurrencyKey: 'y' },
      { concurrencyKey: 'x' },
      { concurrencyKey: 'x' },
    ),
    sentence: 'The run is queued behind 1 run of queue "mail" under key "x" (limit 1, held by run_*).',
    explained: { reason: 'queued', concurrencyKey: 'x', ahead: 1 },
  },
  'is held back by a run that was canceled and whose function goes on': {
    tasks: [endless('a', { name: 'mail', concurrencyLimit: 1 })],
    begin: async (world) => {
      const canceled = await begin('a')(world)
      await world.engine.runs.cancel(canceled?.id ?? '')
      return begin('a')(world)
    },
    sentence: 'The run is queued in queue "mail" (limit 1, held by run_*).',
    explained: { reason: 'queued', ahead: 0 },
  },
  'is to work beside its wait, in a queue that is paused': {
    tasks: [
      task({
        id: 'a',
        run: async () => {
          const token = await wait.createToken({ timeout: '1h' })
          const work = clockOfTest.sleep('1m').then(() => once('work', () => 1))
          await Promise.all([wait.forToken(token), work])
        },
      }),
    ],
    begin: async (world) => {
      const run = await begin('a')(world)
      await world.engine.queue('task/a').pause()
      await world.clock.advance('1m')
      return run
    },
    sentence: `The run is waiting for token waitpoint_*, created at ${at(0)}, until ${at(3_600_000)}; its work beside that goes on when queue "task/a" is resumed.`,
    explained: { reason: 'waiting' },
  },
  'finds no slot in the engine': {
    tasks: [endless('a')],
    concurrency: 2,
    begin: begin('a', {}, {}, {}),
    sentence: 'The run is queued in queue "task/a": all 2 slots of this engine are taken.',
    explained: { reason: 'queued', ahead: 0, queue: 'task/a' },
  },
  'waits for an engine that executes': {
    tasks: [endless('a')],
    execute: false,
    begin: begin('a'),
    sentence:
      'The run is queued in queue "task/a": this engine executes nothing, so the run waits for one that does.',
    explained: { reason: 'queued', heldBy: [] },
  },
  'is of a task that the engine does not know': {
    tasks: [endless('a')],
    begin: async ({ other }) => {
      const web = await other({ tasks: [endless('b')], execute: false })
      return web.tasks.trigger('b', null)
    },
    sentence: 'This engine has only a: the run waits for an engine that has task "b".',
    explained: { reason: 'unknown task', taskIdentifier: 'b' },
  },
  'waits for a token': {
    tasks: [
      task({
        id: 'a',
        run: async () => wait.forToken(await wait.createToken({ timeout: '1h', tags: ['legal', 'eu'] })),
      }),
    ],
    begin: begin('a'),
    sentence: `The run is waiting for token waitpoint_* [legal, eu], created at ${at(0)}, until ${at(3_600_000)}.`,
    explained: { reason: 'waiting', status: 'WAITING' },
  },
  'waits for several tokens': {
    tasks: [
      task({
        id: 'a',
        run: () =>
          Promise.all(
            [1, 2, 3, 4, 5].map(async () => wait.forToken(await wait.createToken({ timeout: '1h' }))),
          ),
      }),
    ],
    begin: begin('a'),
    sentence: `The run is waiting for token waitpoint_*, created at ${at(0)}, until ${at(3_600_000)}, and waiting for token waitpoint_*, created at ${at(0)}, until ${at(3_600_000)}, and waiting for token waitpoint_*, created at ${at(0)}, until ${at(3_600_000)}, and 2 more.`,
    explained: { reason: 'waiting' },
  },
  sleeps: {
    tasks: [task({ id: 'a', run: () => wait.for({ hours: 2 }) })],
    begin: begin('a'),
    sentence: `The run is sleeping until ${at(7_200_000)}.`,
    explained: { reason: 'waiting' },
  },
  'waits for a child run': {
    tasks: [
      endless('b'),
      task({ id: 'a', run: (_payload: null, { tasks }) => tasks.triggerAndWait('b', null) }),
    ],
    begin: begin('a'),
    sentence: 'The run is waiting for child run run_* of task "b", which is EXECUTING.',
    explained: { reason: 'waiting' },
  },
  'executes here': {
    tasks: [endless('a')],
    begin: begin('a'),
    sentence: `The run executes attempt 1 on this engine (engine_*); its record last changed at ${at(0)}.`,
    explained: {
      reason: 'executing',
      attempt: 1,
      isDraining: false,
      startedAt: new Date(START),
    },
  },
  'executes elsewhere': {
    tasks: [],
    begin: async ({ other }) => (await other({ tasks: [endless('b')] })).tasks.trigger('b', null),
    sentence: `The run executes attempt 1 on engine engine_*, last heard 0 s ago; its record last changed at ${at(0)}.`,
    explained: { reason: 'executing', attempt: 1 },
  },
  'was interrupted by a graceful end': {
    tasks: [endless('a')],
    execute: false,
    begin: async ({ other, clock }) => {
      const worker = await other({ tasks: [endless('a')] })
      const run = await worker.tasks.trigger('a', null)
      await clock.settle()
      await worker.close()
      return run
    },
    sentence: `The run was interrupted in attempt 1 and is executed again by the next engine with a free slot; its record last changed at ${at(0)}.`,
    explained: { reason: 'executing', attempt: 1 },
  },
  'drains its streams': {
    tasks: [
      task({
        id: 'a',
        run: async (_payload: null, { metadata }) => {
          await metadata.stream('words', new ReadableStream({ pull: () => forever() }))
        },
      }),
    ],
    begin: begin('a'),
    sentence: `The run has returned, and its streams are drained on this engine (engine_*); its record last changed at ${at(0)}.`,
    explained: { reason: 'executing', isDraining: true },
  },
  'waits for code that fits': {
    tasks: [],
    begin: async ({ engine, other, clock }) => {
      const asking = async (): Promise<unknown> => wait.forToken(await wait.createToken())
      const before = await other({ tasks: [task({ id: 'a', version: '1', run: asking })] })
      const run = await before.tasks.trigger('a', null)
      await clock.settle()
      await before.close()
      await other({ tasks: [task({ id: 'a', version: '2', run: () => wait.for({ hours: 2 }) })] })
      const { data } = await engine.wait.listTokens()
      await engine.wait.completeToken(data[0]!)
      return run
    },
    sentence:
      'The run, which began on version "1", stands still until code that fits it is there: it waits in version "1" of its task, and this code is version "2"; keep the old version beside the new one, list it in `accepts`, name the waits, or decide with runs.continueWith("run_*").',
    explained: { reason: 'pending version', version: '1' },
  },
  'has completed': {
    tasks: [task({ id: 'a', run: () => 'done' })],
    begin: begin('a'),
    sentence: `The run completed at ${at(0)}.`,
    explained: { reason: 'ended', at: new Date(START) },
  },
  'has failed': {
    tasks: [failing('no paper')],
    begin: begin('failing', { maxAttempts: 1 }),
    sentence: `The run failed at ${at(0)}: no paper.`,
    explained: { reason: 'ended', status: 'FAILED' },
  },
  'has failed with a long message': {
    tasks: [failing('x'.repeat(1_000))],
    begin: begin('failing', { maxAttempts: 1 }),
    sentence: `The run failed at ${at(0)}: ${'x'.repeat(300)}….`,
    explained: { reason: 'ended', status: 'FAILED' },
  },
  'was canceled': {
    tasks: [endless('a')],
    begin: async (world) => {
      const run = await begin('a', { delay: '1h' })(world)
      await world.engine.runs.cancel(run?.id ?? '')
      return run
    },
    sentence: `The run was canceled at ${at(0)}.`,
    explained: { reason: 'ended', status: 'CANCELED' },
  },
  'has expired': {
    tasks: [endless('a')],
    concurrency: 1,
    begin: async (world) => {
      const run = await begin('a', {}, { ttl: '1m' })(world)
      await world.clock.advance('2m')
      return run
    },
    sentence: `The run did not start in time and expired at ${at(60_000)}.`,
    explained: { reason: 'ended', status: 'EXPIRED' },
  },
  'has timed out': {
    tasks: [task({ id: 'a', maxDuration: '1m', run: () => forever() })],
    begin: async (world) => {
      const run = await begin('a')(world)
      await world.clock.advance('2m')
      return run
    },
    sentence: `The run executed for longer than its maxDuration and was ended at ${at(60_000)}.`,
    explained: { reason: 'ended', status: 'TIMED_OUT' },
  },
}

/** Without ids, and without the place of an engine, which storage in memory does not know. */
function masked(sentence: string): string {
  const place = new RegExp(` \\(process ${process.pid} on [^)]+\\)`, 'g')
  return sentence.replaceAll(/(?<=\b(?:run|engine|waitpoint)_)\w{26}/g, '*').replaceAll(place, '')
}

describe('runs.explain of a run whose engine is gone', () => {
  it('says how often its process has died with it, and how it is executed again', async () => {
    const [clock, storage] = [testClock({ start: START }), steadyStorage()]
    clockOfTest = clock
    const tasks = [endless('a')]
    await using t = await createTestEngine({ tasks, clock, storage, execute: false, leaseMs: 60_000 })
    const { id } = await t.engine.tasks.trigger('a', null)
    const told: string[] = []
    for (let deaths = 1; deaths <= 10; deaths += 1) {
      const ports = abandonable(clock, storage)
      const gone = createEngine({ tasks, clock: ports.clock, storage: ports.storage })
      await gone.ready()
      await clock.settle()
      ports.abandon()
      await clock.advance('40s')
      told.push((await t.engine.runs.explain(id)).sentence)
    }
    expect(told[0]).toMatch(/^The run was executed on engine .* when its process died, 1 time in a row/)
    expect(told[0]).toContain('and is executed again beside at most 511 other such runs; its record')
    expect(told[9]).toContain(
      '10 times in a row, and is executed again alone, by an engine that executes nothing else;',
    )
  })

  it('says when that was last heard, and then that its lease has ended', async () => {
    const [clock, storage] = [testClock({ start: START }), steadyStorage()]
    clockOfTest = clock
    const tasks = [endless('a')]
    const ports = abandonable(clock, storage)
    await using t = await createTestEngine({ tasks, clock, storage, execute: false, leaseMs: 60_000 })
    const gone = createEngine({ tasks, clock: ports.clock, storage: ports.storage, leaseMs: 30_000 })
    const { id } = await gone.tasks.trigger('a', null)
    await clock.settle()
    await clock.advance('12s')
    ports.abandon()
    await clock.advance('7s')
    const heard = await t.engine.runs.explain(id)
    expect(masked(heard.sentence)).toMatch(/on engine engine_\*, last heard \d+ s ago; its record/)
    if (heard.reason !== 'executing') throw new Error(heard.reason)
    const { isHere, heardAt, leaseEndsAt } = heard.owner ?? {}
    expect(isHere).toBe(false)
    expect(Number(leaseEndsAt) - Number(heardAt)).toBe(30_000)
    expect(Number(heardAt) - START).toBe(10_000)
    await clock.advance('30s')
    expect(masked((await t.engine.runs.explain(id)).sentence)).toContain(
      'last heard 39 s ago when its process died, 1 time in a row, and is executed again beside at most 511 other',
    )
  })
})

describe('runs.explain', () => {
  it.each(Object.entries(standstills))('tells of a run that %s', async (_name, standstill) => {
    const { tasks, sentence, explained, begin: start, ...options } = standstill
    const [clock, storage] = [testClock({ start: START }), steadyStorage()]
    clockOfTest = clock
    const others: TestEngine[] = []
    const other: World['other'] = async (its) => {
      const made = await createTestEngine({ ...its, clock, storage })
      others.push(made)
      return made.engine
    }
    await using t = await createTestEngine({ tasks, clock, storage, ...options })
    const run = await start({ engine: t.engine, clock, other })
    await clock.settle()
    const told = await t.engine.runs.explain(run?.id ?? '')
    expect(told).toMatchObject({ id: run?.id, ...explained })
    expect(masked(told.sentence)).toEqual(sentence)
    await Promise.all(others.map((made) => made.close()))
  })

  it('refuses an unknown run', async () => {
    await using t = await createTestEngine({ tasks: [] })
    expect(await rejection(t.engine.runs.explain('run_none'))).toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
  })
})
