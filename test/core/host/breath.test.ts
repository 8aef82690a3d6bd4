import { describe, expect, it } from 'vitest'
import {
  createEngine,
  type Engine,
  once,
  type RunHandle,
  type RunTools,
  runs,
  streams,
  task,
  wait,
} from 'waitpoint'
import { systemClock } from '../../../src/clock/system.ts'
import { inNextTurn } from '../../../src/clock/macrotask-turn.ts'
import { Breath } from '../../../src/core/host/breath.ts'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { storageOfThisProcess } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { impatientClock } from '../../support/impatient-clock.ts'
import { microtasksUntil, until } from '../../support/turn.ts'
import { turnsByTheQuestion } from '../../support/turns-by-the-question.ts'
import { turnClock } from '../../support/turn-clock.ts'

/** Questions to the clock until a turn is due, and calls of runs between two of them. */
const QUESTIONS = 4
const CALLS = 16
/** Rounds of a loop: many times as many as may pass between two turns. */
const ROUNDS = 1_000

interface Given extends RunTools {
  readonly settled: string
  readonly ended: RunHandle<null>
  readonly round: number
}

const child = task({ id: 'child', run: async (_payload: null) => null })

const LOOPS: readonly [string, (given: Given) => Promise<unknown>][] = [
  ['wait.for of no time', () => wait.for({ seconds: 0 })],
  ['wait.createToken', () => wait.createToken()],
  ['wait.completeToken', ({ settled }) => wait.completeToken(settled)],
  ['wait.forToken of a completed token', ({ settled }) => wait.forToken(settled)],
  ['wait.completeToken that is refused', () => wait.completeToken('waitpoint_x').catch(() => undefined)],
  ['once', ({ round }) => once(`effect ${round}`, () => round)],
  ['trigger', () => child.trigger(null)],
  ['runs.retrieve', ({ ended }) => runs.retrieve(ended)],
  ['runs.retrieve of no run', () => runs.retrieve('').catch(() => undefined)],
  ['runs.list', () => runs.list({ limit: 1 }).then(() => undefined)],
  ['result() of a run that has ended', ({ ended }) => ended.result()],
  ['streams.append', ({ round }) => streams.append('news', round)],
]

async function looping(loop: (given: Given) => Promise<unknown>): Promise<readonly number[]> {
  let rounds = 0
  const body = bodyTask(async (tools) => {
    const token = await wait.createToken()
    await wait.completeToken(token)
    const ended = await child.trigger(null)
    await until(() => engine.stats().executing === 1)
    for (; rounds < ROUNDS; rounds += 1) await loop({ ...tools, settled: token.id, ended, round: rounds })
  })
  await using engine: Engine = createEngine({
    tasks: [body, child],
    clock: impatientClock(QUESTIONS),
    storage: storageOfThisProcess(),
  })
  const run = await engine.trigger(body, null)
  const turns: number[] = []
  while (rounds < ROUNDS) {
    await new Promise((resolve) => setImmediate(resolve))
    turns.push(rounds)
  }
  await run.result()
  return turns
}

/** What a program outside of runs does again and again. */
interface Outside {
  readonly engine: Engine
  readonly ended: RunHandle<null>
  readonly settled: string
}

const OUTSIDE: readonly [string, (given: Outside) => Promise<unknown>][] = [
  ['trigger', ({ engine }) => engine.trigger(child, null)],
  ['batchTrigger', ({ engine }) => engine.tasks.batchTrigger<typeof child>('child', [{ payload: null }])],
  ['wait.createToken', ({ engine }) => engine.wait.createToken()],
  ['wait.completeToken', ({ engine, settled }) => engine.wait.completeToken(settled)],
  ['wait.retrieveToken', ({ engine, settled }) => engine.wait.retrieveToken(settled)],
  ['wait.listTokens', ({ engine }) => engine.wait.listTokens({ limit: 1 }).then(() => undefined)],
  ['runs.retrieve', ({ engine, ended }) => engine.runs.retrieve(ended)],
  ['runs.retrieve that is refused', ({ engine }) => engine.runs.retrieve('run_x').catch(() => undefined)],
  ['runs.list', ({ engine }) => engine.runs.list({ limit: 1 }).then(() => undefined)],
  ['runs.counts', ({ engine }) => engine.runs.counts()],
  ['runs.cancel', ({ engine, ended }) => engine.runs.cancel(ended)],
  ['result() of a run that has ended', ({ ended }) => ended.result()],
  [
    'a subscription to a run that has ended',
    ({ engine, ended }) => lastOf(engine.runs.subscribeToRun(ended)),
  ],
  ['queues', ({ engine }) => engine.queues()],
  ['schedules.list', ({ engine }) => engine.schedules.list().then(() => undefined)],
  ['ready', ({ engine }) => engine.ready()],
]

/** Calls that are refused for what they are given. */
const WRONG: readonly [string, (engine: Engine) => Promise<unknown>][] = [
  ['trigger', (engine) => engine.trigger(child, null, { delay: 'soon' })],
  ['trigger of what is not JSON', (engine) => engine.trigger(child, 1n as never)],
  ['tasks.trigger', (engine) => engine.tasks.trigger('', null)],
  ['tasks.batchTrigger', (engine) => engine.tasks.batchTrigger('child', 1 as never)],
  ['wait.createToken', (engine) => engine.wait.createToken({ timeout: 'soon' })],
  ['wait.completeToken', (engine) => engine.wait.completeToken('')],
  ['wait.completeToken with what is not JSON', (engine) => engine.wait.completeToken('waitpoint_x', 1n)],
  ['wait.retrieveToken', (engine) => engine.wait.retrieveToken('')],
  ['wait.listTokens', (engine) => engine.wait.listTokens({ limit: -1 })],
  ['wait.forToken', (engine) => engine.wait.forToken('')],
  ['tasks.triggerAndWait', (engine) => engine.tasks.triggerAndWait('child', null)],
  ['tasks.batchTriggerAndWait', (engine) => engine.tasks.batchTriggerAndWait('child', [])],
  ['wait.for', (engine) => engine.wait.for({ seconds: -1 })],
  ['wait.until', (engine) => engine.wait.until({ date: new Date(Number.NaN) })],
  ['runs.retrieve', (engine) => engine.runs.retrieve('')],
  ['runs.poll', (engine) => engine.runs.poll('')],
  ['runs.list', (engine) => engine.runs.list({ limit: -1 })],
  ['runs.counts', (engine) => engine.runs.counts({ tag: '' })],
  ['runs.cancel', (engine) => engine.runs.cancel('')],
  ['runs.replay', (engine) => engine.runs.replay('')],
  ['runs.continueWith', (engine) => engine.runs.continueWith('')],
  ['runs.explain', (engine) => engine.runs.explain('')],
  ['runs.addTags', (engine) => engine.runs.addTags('', 'tag')],
  ['runs.resetIdempotencyKey', (engine) => engine.runs.resetIdempotencyKey('', '')],
  ['runs.reschedule', (engine) => engine.runs.reschedule('', { delay: '1h' })],
  ['a reader of runs.subscribeToRun', (engine) => lastOf(engine.runs.subscribeToRun('run_x'))],
  ['a reader of streams.read', (engine) => lastOf(engine.streams.read('run_x', 'key'))],
  ['streams.append', (engine) => engine.streams.append('key', 1)],
  ['metadata.flush', (engine) => engine.metadata.flush()],
  ['queue().setLimit', (engine) => engine.queue('queue').setLimit(-1)],
  ['queue().setRate', (engine) => engine.queue('queue').setRate({ limit: -1, per: '1s' })],
  ['schedules.create', (engine) => engine.schedules.create({} as never)],
  ['schedules.retrieve', (engine) => engine.schedules.retrieve('')],
  ['schedules.update', (engine) => engine.schedules.update('', {})],
  ['schedules.del', (engine) => engine.schedules.del('')],
  ['createAccessToken', (engine) => engine.createAccessToken({ runs: [''] } as never)],
]

async function lastOf<T>(parts: AsyncIterable<T>): Promise<T | undefined> {
  let last: T | undefined
  for await (const part of parts) last = part
  return last
}

/** Rounds of `flows` loops outside of runs, at each turn of the event loop. */
async function loopingOutside(
  loop: (given: Outside) => Promise<unknown>,
  { flows = 1, rounds: all = ROUNDS } = {},
): Promise<readonly number[]> {
  await using engine = createEngine({
    tasks: [child],
    clock: impatientClock(QUESTIONS),
    storage: storageOfThisProcess(),
  })
  const token = await engine.wait.createToken()
  await engine.wait.completeToken(token)
  const ended = await engine.trigger(child, null)
  await ended.result()
  const given = { engine, ended, settled: token.id }
  let rounds = 0
  const flow = async (): Promise<void> => {
    for (let round = 0; round < all / flows; round += 1) {
      await loop(given)
      rounds += 1
    }
  }
  const progress = { isOver: false }
  const done = Promise.all(Array.from({ length: flows }, flow)).finally(() => (progress.isOver = true))
  const turns: number[] = []
  while (!progress.isOver) {
    await new Promise((resolve) => setImmediate(resolve))
    turns.push(rounds)
  }
  await done
  return turns
}

function mostBetween(turns: readonly number[]): number {
  return turns.reduce((most, rounds, at) => Math.max(most, rounds - (turns[at - 1] ?? 0)), 0)
}

describe('the event loop', () => {
  it('has a turn between any two pieces of work that take long', async () => {
    let turns = 0
    const clock = Object.assign(systemClock(), { isTurnDue: turnsByTheQuestion() })
    const breath = new Breath({
      clock,
      isClosed: false,
      afterTurn: (_label, goOn) =>
        inNextTurn(() => {
          turns += 1
          goOn()
        }),
    })
    const before: number[] = []
    for (let piece = 0; piece < 5; piece += 1) {
      await breath.next()
      before.push(turns)
    }
    expect(before).toEqual([0, 1, 2, 3, 4])
  })

  it.each(LOOPS)('has its turns during a loop of %s in a task', async (_name, loop) => {
    expect(mostBetween(await looping(loop))).toBeLessThanOrEqual(2 * QUESTIONS * CALLS)
  })

  it.each(OUTSIDE)('has its turns during a loop of %s outside of runs', async (_name, loop) => {
    expect(mostBetween(await loopingOutside(loop))).toBeLessThanOrEqual(2 * QUESTIONS * CALLS)
  })

  it.each(WRONG)('has its turns during a loop of %s that is refused for its input', async (_name, call) => {
    let refused = 0
    const turns = await loopingOutside(({ engine }) => call(engine).catch(() => void (refused += 1)))
    expect(refused).toBe(ROUNDS)
    expect(mostBetween(turns)).toBeLessThanOrEqual(2 * QUESTIONS * CALLS)
  })

  it('has its turns during many loops side by side', async () => {
    const flows = 4_000
    const turns = await loopingOutside(({ engine }) => engine.wait.createToken(), {
      flows,
      rounds: 2 * flows,
    })
    // In one turn 256 of them go on, and a turn of the test may fall between two of theirs.
    expect(mostBetween(turns)).toBeLessThanOrEqual(2 * (QUESTIONS * CALLS + 256))
  })

  it('begins runs while a loop outside of runs triggers others', async () => {
    let begun = 0
    const counted = task({ id: 'counted', run: async (_payload: null) => void (begun += 1) })
    await using engine = createEngine({
      tasks: [counted],
      clock: impatientClock(QUESTIONS),
      storage: storageOfThisProcess(),
    })
    let triggered = 0
    for (; begun < ROUNDS / 2 && triggered < 100 * ROUNDS; triggered += 1) await engine.trigger(counted, null)
    expect(triggered).toBeLessThan(100 * ROUNDS)
  })

  it('on the system clock fires timers during a loop outside of runs', async () => {
    await using engine = createEngine({ tasks: [child], storage: storageOfThisProcess() })
    const { id } = await engine.trigger(child, null)
    let fired = 0
    const clock = systemClock()
    const again = (): void => {
      fired += 1
      if (fired < 10) clock.setTimer(clock.now() + 10, again)
    }
    clock.setTimer(clock.now() + 10, again)
    let calls = 0
    for (; fired < 10 && calls < 5_000_000; calls += 1) await engine.runs.retrieve(id)
    expect(fired).toBeGreaterThanOrEqual(10)
  })

  it('lets an engine renew its lease in a loop of a minute, so that no other one takes its runs', async () => {
    const clock = turnClock()
    const impatient = impatientClock(QUESTIONS)
    const options = {
      clock: { ...clock, isTurnDue: () => impatient.isTurnDue?.() === true },
      storage: storageOfThisProcess(),
    }
    let attempts = 0
    const working = bodyTask(async () => {
      attempts += 1
      await over.promise
    })
    const over = createDeferred<void>()
    const progress = { isOver: false }
    await using engine = createEngine({ ...options, tasks: [working, child] })
    const other = createEngine({ ...options, tasks: [working] })
    const loop = async (): Promise<number> => {
      const run = await engine.trigger(working, null)
      await other.ready()
      await engine.ready()
      const before = engine.stats().leaseRenewals
      for (let passedMs = 0; passedMs < 60_000; passedMs += 20) {
        clock.pass(20)
        await engine.wait.createToken({ timeout: '1d' })
      }
      const renewals = engine.stats().leaseRenewals - before
      over.resolve()
      await run.result()
      await other.close()
      return renewals
    }
    const looped = loop().finally(() => (progress.isOver = true))
    while (!progress.isOver) await clock.turns(1)
    // A lease is good for 30 s, and renewed three times as often.
    expect(await looped).toBeGreaterThanOrEqual(5)
    expect(attempts).toBe(1)
  })

  it('parks no run while an answer to one of its calls waits for a turn, behind those of a crowd', async () => {
    const executing = new Set<number>()
    const isOver = { run: false }
    const body = bodyTask(async () => {
      const token = await wait.createToken()
      // It is awaited: the run would park if that were all it did.
      const answer = wait.forToken(token).then(() => undefined)
      for (let round = 0; round < 50; round += 1) {
        await wait.createToken()
        executing.add(engine.stats().executing)
      }
      await wait.completeToken(token)
      await answer
      isOver.run = true
    })
    await using engine: Engine = createEngine({
      tasks: [body],
      clock: impatientClock(QUESTIONS),
      storage: storageOfThisProcess(),
    })
    const run = await engine.trigger(body, null)
    // Of these 256 have their answers in each turn.
    const crowd = Array.from({ length: 1_000 }, async () => {
      while (!isOver.run) await engine.wait.createToken()
    })
    await run.result()
    await Promise.all(crowd)
    expect([...executing]).toEqual([1])
  })

  it('gives the next line of a task no turn later than its completion, however long work has kept it busy', async () => {
    let hasGoneOn = false
    const asking = bodyTask(async () => {
      await wait.forToken(token)
      hasGoneOn = true
    })
    const busy = bodyTask(
      async () => {
        for (let round = 0; round < ROUNDS; round += 1) await wait.createToken()
        // Other calls stand in line by now.
        const calls = Array.from({ length: CALLS * QUESTIONS }, () => wait.createToken())
        const completed = wait.completeToken(token)
        await Promise.resolve()
        seen = hasGoneOn
        await Promise.all([...calls, completed])
      },
      { id: 'busy' },
    )
    let seen = false
    await using engine = createEngine({ tasks: [asking, busy], clock: impatientClock(QUESTIONS) })
    const token = await engine.wait.createToken()
    const waiting = await engine.trigger(asking, null)
    await microtasksUntil(() => engine.stats().waits === 1)
    await (await engine.trigger(busy, null)).result()
    await waiting.result()
    expect(seen).toBe(true)
  })

  it('makes the calls that a task does not await although a turn is due', async () => {
    let triggered = 0
    const counted = task({ id: 'counted', run: async (_payload: null) => void (triggered += 1) })
    const body = bodyTask(async () => {
      for (let round = 0; round < ROUNDS; round += 1) void counted.trigger(null)
    })
    await using engine = createEngine({ tasks: [body, counted], clock: impatientClock(QUESTIONS) })
    await (await engine.trigger(body, null)).result()
    await until(() => triggered === ROUNDS)
  })
})
