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
import { storageOfThisProcess } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { impatientClock } from '../../support/impatient-clock.ts'
import { microtasksUntil, until } from '../../support/turn.ts'

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

describe('the event loop', () => {
  it.each(LOOPS)('has its turns during a loop of %s in a task', async (_name, loop) => {
    const turns = await looping(loop)
    const most = turns.reduce((most, rounds, at) => Math.max(most, rounds - (turns[at - 1] ?? 0)), 0)
    expect(most).toBeLessThanOrEqual(2 * QUESTIONS * CALLS)
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
