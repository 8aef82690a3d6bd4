import { describe, expect, it } from 'vitest'
import { type Task, task } from 'waitpoint'
import { createTestEngine, type TestClock, type TestEngine, testClock } from 'waitpoint/testing'
import type { Hint, Storage } from '../../../src/contract/storage.ts'
import { createDeferred, type Deferred } from '../../../src/primitives/deferred.ts'
import { projectStorage } from '../../support/abandon.ts'
import { type SteeredStorage, steeredStorage } from '../../support/steered-storage.ts'
import { turn, until } from '../../support/turn.ts'

type Narrow = Task<string, void>

/** An engine that claims, whose answers can be held back, and another one on the same storage, which does not. */
class Scene implements AsyncDisposable {
  /** Which runs began, by whose hands. */
  readonly begun: string[] = []
  /** What the engine that claims told of runs. */
  readonly told: string[] = []
  readonly clock: TestClock = testClock({ mode: 'manual', ioGraceMs: 10 })
  readonly storage: Storage = projectStorage()
  readonly steering: SteeredStorage = steeredStorage(this.storage)
  /** Runs whose name begins with "long" execute until then. */
  readonly longEnough: Deferred<void> = createDeferred<void>()
  /** Tells the engine that claims. */
  hint: (hint: Hint) => void = () => undefined
  readonly #engines: TestEngine[] = []

  static async open(hears: (hint: Hint) => boolean = () => true): Promise<Scene> {
    const scene = new Scene()
    await scene.engine('other', { tasks: [] })
    const { storage } = scene.steering
    const subscribe: Storage['subscribe'] = (owner, listener) => {
      scene.hint = listener
      return storage.subscribe(owner, (hint) => (hears(hint) ? listener(hint) : undefined))
    }
    const one = await scene.engine('one', { storage: { ...storage, subscribe } })
    one.engine.on('run', ({ id, status }) => void scene.told.push(`${id} ${status}`))
    await scene.clock.settle()
    return scene
  }

  get other(): TestEngine['engine'] {
    return this.#named(0)
  }

  get one(): TestEngine['engine'] {
    return this.#named(1)
  }

  /** Opens an engine with a task whose runs execute one after the other. */
  async engine(name: string, options: { tasks?: Narrow[]; storage?: Storage } = {}): Promise<TestEngine> {
    const { tasks = [this.#narrow(name)], storage = this.storage } = options
    const opened = await createTestEngine({ tasks, storage, clock: this.clock, seed: name })
    this.#engines.push(opened)
    return opened
  }

  /** Triggers a run, and waits until it is claimed; the answer to that is held back. */
  async claimed(name: string): Promise<{ readonly id: string; readonly answer: () => void }> {
    const answer = this.steering.holdAnswer('runs.claim')
    const { id } = await this.trigger(name)
    while ((await this.other.runs.retrieve(id)).status !== 'EXECUTING') await turn()
    return { id, answer }
  }

  trigger(name: string, ttl?: number): Promise<{ readonly id: string }> {
    return this.one.tasks.trigger<Narrow>('narrow', name, ttl === undefined ? {} : { ttl })
  }

  /** The engine that claims hears of nothing while time goes on. */
  async standStill(duration: string): Promise<() => void> {
    const goOn = this.steering.holdCall('tick')
    await this.clock.jump(duration).catch(() => undefined)
    return goOn
  }

  /** Another engine begins what the one that claims has claimed, which hears of nothing meanwhile. */
  async takeOver(): Promise<{ readonly heir: TestEngine; readonly goOn: () => void }> {
    const heir = await this.engine('heir')
    const goOn = await this.standStill('1m')
    await until(() => this.begun.length > 0)
    return { heir, goOn }
  }

  toldOf(id: string): string[] {
    return this.told.filter((line) => line.startsWith(id)).map((line) => line.slice(id.length + 1))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.longEnough.resolve()
    for (const engine of this.#engines.toReversed()) await engine.close()
  }

  #named(at: number): TestEngine['engine'] {
    const opened = this.#engines[at]
    if (opened === undefined) throw new Error('Cannot use an engine of the scene: it is not open')
    return opened.engine
  }

  #narrow(by: string): Narrow {
    return task({
      id: 'narrow',
      queue: { concurrencyLimit: 1 },
      run: async (name: string) => {
        this.begun.push(`${name} by ${by}`)
        if (name.startsWith('long')) await this.longEnough.promise
      },
    })
  }
}

describe('a run that is claimed, of which the engine that claims has not heard yet,', () => {
  it.each([
    ['one', ['QUEUED', 'CANCELED']],
    ['other', ['QUEUED']],
  ] as const)('does not begin once engine "%s" has canceled it, nor keeps its slot', async (name, events) => {
    await using t = await Scene.open()
    const { id, answer } = await t.claimed('first')
    await t[name].runs.cancel(id)
    await turn()
    await t.trigger('second')
    answer()
    await t.clock.settle()
    expect(t.begun).toEqual(['second by one'])
    expect(t.toldOf(id)).toEqual(events)
    expect(t.one.stats()).toMatchObject({ attempts: 0, executing: 0 })
  })

  it('does not begin, or is aborted, however late it is canceled', async () => {
    for (let turns = 0; turns < 24; turns += 1) {
      await using t = await Scene.open()
      const { id, answer } = await t.claimed('long')
      // It is looked at, for that took long.
      await t.clock.jump('15s').catch(() => undefined)
      answer()
      for (let microtask = 0; microtask < turns; microtask += 1) await Promise.resolve()
      await t.one.runs.cancel(id)
      await turn()
      t.longEnough.resolve()
      await t.clock.settle()
      expect(t.toldOf(id).at(-1), `after ${turns} turns`).toBe('CANCELED')
      expect(t.one.stats(), `after ${turns} turns`).toMatchObject({ attempts: 0, executing: 0 })
    }
  })

  it('does not begin when a hint was lost that it is canceled, and storage says that hints were', async () => {
    let isDeaf = false
    await using t = await Scene.open(() => !isDeaf)
    const { id, answer } = await t.claimed('first')
    isDeaf = true
    await t.other.runs.cancel(id)
    await turn()
    t.hint({ topic: 'any' })
    answer()
    await t.clock.settle()
    expect(t.begun).toEqual([])
  })

  it('does not begin when another engine has taken it over', async () => {
    await using t = await Scene.open(() => false)
    const { id, answer } = await t.claimed('first')
    const { heir, goOn } = await t.takeOver()
    answer()
    await turn()
    goOn()
    await t.clock.settle()
    expect(t.begun).toEqual(['first by heir'])
    expect((await heir.engine.runs.retrieve(id)).status).toBe('COMPLETED')
  })

  it('does not begin when another engine has taken it over while it was looked at', async () => {
    await using t = await Scene.open(() => false)
    const { answer } = await t.claimed('first')
    await t.clock.jump('15s').catch(() => undefined)
    const look = t.steering.holdAnswer('runs.get')
    answer()
    await until(() => t.steering.calls.includes('runs.get'))
    const { goOn } = await t.takeOver()
    look()
    await turn()
    goOn()
    await t.clock.settle()
    expect(t.begun).toEqual(['first by heir'])
  })

  it('leaves its slot to the engine that has taken it over, also when it is canceled there', async () => {
    await using t = await Scene.open(() => false)
    const { id, answer } = await t.claimed('long first')
    const { heir, goOn } = await t.takeOver()
    await heir.engine.tasks.trigger<Narrow>('narrow', 'second')
    await heir.engine.runs.cancel(id)
    answer()
    await turn()
    await turn()
    expect(t.begun).toEqual(['long first by heir'])
    goOn()
  })

  it('begins when the answer comes late and nothing has happened to it', async () => {
    await using t = await Scene.open()
    const { answer } = await t.claimed('first')
    await t.clock.jump('15s').catch(() => undefined)
    answer()
    await t.clock.settle()
    expect(t.begun).toEqual(['first by one'])
  })

  it('is left alone by an engine that has closed', async () => {
    await using t = await Scene.open()
    const { id, answer } = await t.claimed('first')
    await t.one.runs.cancel(id)
    await t.one.close()
    const calls = t.steering.calls.length
    answer()
    await turn()
    expect(t.steering.calls.slice(calls)).toEqual([])
  })
})

describe('a claim', () => {
  it('tells what it has ended, also when what it has claimed cannot be looked at', async () => {
    await using t = await Scene.open()
    await t.trigger('long first')
    await until(() => t.begun.length > 0)
    const claimed = await t.trigger('second')
    const expired = await t.trigger('third', 2)
    const goOn = await t.standStill('5s')
    const answer = t.steering.holdAnswer('runs.claim')
    t.longEnough.resolve()
    while ((await t.other.runs.retrieve(expired)).status !== 'EXPIRED') await turn()
    await t.other.runs.cancel(claimed)
    await turn()
    t.steering.fail('runs.get')
    answer()
    await turn()
    goOn()
    await t.clock.advance('5s')
    expect(t.toldOf(expired.id)).toEqual(['QUEUED', 'EXPIRED'])
    expect(t.begun).toEqual(['long first by one'])
  })
})
