import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, task, wait } from 'waitpoint'
import { kernelOf } from '../../../src/core/engine.ts'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { storageOfThisProcess } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { impatientClock } from '../../support/impatient-clock.ts'
import { turn, until } from '../../support/turn.ts'

const MANY = 400
/** Questions to the clock until a turn is due, and runs that start between two of them. */
const QUESTIONS = 4
const STARTS = 16

/** Runs that are queued behind one that holds the only slot of the engine, or of the storage. */
class Backlog implements AsyncDisposable {
  readonly engine: Engine
  ended = 0
  readonly #gate = createDeferred<undefined>()
  readonly #one = task({
    id: 'one',
    run: async () => {
      await Promise.resolve()
      this.ended += 1
    },
  })
  readonly #gateTask = task({ id: 'gate', run: () => this.#gate.promise })

  constructor(concurrency: number) {
    this.engine = createEngine({
      tasks: [this.#one, this.#gateTask],
      concurrency,
      clock: impatientClock(QUESTIONS),
      storage: storageOfThisProcess(),
    })
  }

  async queue(count: number): Promise<void> {
    await this.engine.trigger(this.#gateTask, null)
    await until(() => this.engine.stats().executing === 1)
    for (let index = 0; index < count; index += 1) await this.engine.trigger(this.#one, null)
  }

  release(): void {
    this.#gate.resolve(undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release()
    await this.engine.close()
  }
}

/** Runs that wait for one token, each in an attempt of its own. */
class Crowd implements AsyncDisposable {
  resumed = 0
  readonly #token = createDeferred<string>()
  readonly #ask = bodyTask(async () => {
    await wait.forToken(await this.#token.promise)
    this.resumed += 1
  })
  readonly engine: Engine = createEngine({
    tasks: [this.#ask],
    clock: impatientClock(QUESTIONS),
    storage: storageOfThisProcess(),
  })

  static async waiting(): Promise<Crowd> {
    const crowd = new Crowd()
    const { engine } = crowd
    for (let index = 0; index < MANY; index += 1) await engine.trigger(crowd.#ask, null)
    crowd.#token.resolve((await engine.wait.createToken()).id)
    await until(() => engine.stats().attempts === MANY && engine.stats().executing === 0)
    return crowd
  }

  async resume(): Promise<void> {
    await this.engine.wait.completeToken(await this.#token.promise)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.close()
  }
}

/** What was counted at each turn of the event loop, until it is `all`. */
async function turnsUntil(count: () => number, all: number): Promise<readonly number[]> {
  const turns = [count()]
  while (count() < all) {
    await new Promise((resolve) => setImmediate(resolve))
    turns.push(count())
  }
  return turns
}

/** The largest number of runs that began between two turns of the event loop. */
function mostBetween(turns: readonly number[]): number {
  return turns.reduce((most, count, at) => Math.max(most, count - (turns[at - 1] ?? 0)), 0)
}

describe('a backlog of runs', () => {
  it('that are claimed one by one is worked off in slices', async () => {
    await using t = new Backlog(1)
    await t.queue(MANY)
    t.release()
    const turns = await turnsUntil(() => t.ended, MANY)
    expect(mostBetween(turns)).toBeLessThanOrEqual(2 * QUESTIONS)
  })

  it('that are claimed by the hundred starts in slices', async () => {
    let began = 0
    const many = task({ id: 'many', run: async () => void (began += 1) })
    await using engine = createEngine({
      tasks: [many],
      clock: impatientClock(QUESTIONS),
      storage: storageOfThisProcess(),
    })
    for (let index = 0; index < MANY; index += 1) void engine.trigger(many, null)
    const turns = await turnsUntil(() => began, MANY)
    expect(mostBetween(turns)).toBeLessThanOrEqual((QUESTIONS + 1) * STARTS)
  })

  it('leaves alone a claimed run that is canceled before its slice begins', async () => {
    const began: string[] = []
    const many = task({ id: 'many', run: async (_: null, { ctx }) => void began.push(ctx.run.id) })
    await using engine = createEngine({
      tasks: [many],
      clock: impatientClock(2),
      storage: storageOfThisProcess(),
    })
    const runs = await Promise.all(Array.from({ length: 100 }, () => engine.trigger(many, null)))
    await until(() => began.length > 0)
    const last = runs.at(-1)!
    expect(began.length).toBeLessThan(100)
    await engine.runs.cancel(last.id)
    await until(() => began.length >= 99)
    await turn()
    expect(began).not.toContain(last.id)
    expect(await last.outcome()).toMatchObject({ ok: false })
    await until(() => engine.stats().executing === 0)
    expect(engine.stats()).toMatchObject({ attempts: 0, executing: 0 })
  })

  it('begins no more of them once the engine is closed', async () => {
    const storage = storageOfThisProcess()
    let began = 0
    const many = task({ id: 'many', run: async () => void (began += 1) })
    const engine = createEngine({ tasks: [many], clock: impatientClock(2), storage })
    await Promise.all(Array.from({ length: 100 }, () => engine.trigger(many, null)))
    await until(() => began > 0)
    const before = began
    await engine.close()
    await turn()
    await turn()
    expect(before).toBeLessThan(100)
    expect(began).toBe(before)
  })

  it('goes on in slices when one token resumes all of it', async () => {
    await using crowd = await Crowd.waiting()
    await crowd.resume()
    const turns = await turnsUntil(() => crowd.resumed, MANY)
    expect(mostBetween(turns)).toBeLessThanOrEqual(2 * (QUESTIONS + 1) * STARTS)
  })

  it('leaves room for new runs while all of it goes on, where slots have no limit', async () => {
    const room = new Set<number>()
    await using crowd = await Crowd.waiting()
    void crowd.resume()
    while (crowd.resumed < MANY) {
      room.add(kernelOf(crowd.engine).slots.roomToClaim)
      await turn()
    }
    expect([...room]).toEqual([Infinity])
  })

  it('on the system clock lets timers and I/O have their turns', async () => {
    const count = 2_000
    let [ended, spun] = [0, 0]
    // Some 20 microseconds, so that all of them take several slices on any machine.
    const spin = async (): Promise<void> => {
      for (let turn = 0; turn < 20_000; turn += 1) spun += turn
      ended += 1
    }
    const one = task({ id: 'one', run: spin })
    await using engine = createEngine({ tasks: [one], concurrency: 1, storage: storageOfThisProcess() })
    const runs = await Promise.all(Array.from({ length: count }, () => engine.trigger(one, null)))
    const turns = await turnsUntil(() => ended, count)
    expect(runs).toHaveLength(count)
    expect(spun).toBeGreaterThan(0)
    expect(turns.length).toBeGreaterThan(2)
  })
})
