import { describe, expect, it } from 'vitest'
import { type Task, task, tasks } from 'waitpoint'
import { createTestEngine, type TestClock, type TestEngine, testClock } from 'waitpoint/testing'
import type { RunRecord } from '../../../src/contract/records.ts'
import type { RunInsert, Storage } from '../../../src/contract/storage.ts'
import { kernelOf } from '../../../src/core/engine.ts'
import { createDeferred, type Deferred } from '../../../src/primitives/deferred.ts'
import { claimingMemory } from '../../support/claiming-memory.ts'
import { type SteeredStorage, steeredStorage } from '../../support/steered-storage.ts'
import { turn, until } from '../../support/turn.ts'

type Named = Task<string, string>

interface SceneOptions {
  readonly concurrency?: number
  /** Tasks beside `note` and `parent`. */
  readonly more?: readonly Named[]
}

/** An engine on a storage that claims new runs, whose answers can be held back or lost, and another one that executes nothing. */
class Scene implements AsyncDisposable {
  /** The runs that began, by their payload and their attempt. */
  readonly begun: string[] = []
  readonly told: string[] = []
  /** Runs whose name begins with "long" execute until then. */
  readonly longEnough: Deferred<void> = createDeferred<void>()
  readonly clock: TestClock = testClock({ mode: 'manual' })
  readonly storage: Storage = claimingMemory()
  readonly steering: SteeredStorage = steeredStorage(this.storage, { claimsNew: true })
  /** Which runs were to be claimed by their inserts. */
  readonly asked: boolean[] = []
  /** Inserts claim nothing, as if another run came first. */
  isBehind = false
  /** The next insert of a child finds this run by its key. */
  found: Promise<RunRecord> | undefined
  readonly #engines: TestEngine[] = []
  readonly #more: readonly Named[]
  #calls = 0

  private constructor(more: readonly Named[]) {
    this.#more = more
  }

  static async open({ concurrency, more = [] }: SceneOptions = {}): Promise<Scene> {
    const scene = new Scene(more)
    const { storage } = scene.steering
    const insert = (request: RunInsert): ReturnType<Storage['runs']['insert']> => {
      scene.asked.push(request.claim !== undefined)
      if (scene.found !== undefined && request.record.parentId !== undefined) {
        const { found } = scene
        scene.found = undefined
        return found.then((record) => ({ record, isCached: true }))
      }
      return storage.runs.insert(scene.isBehind ? { ...request, claim: undefined } : request)
    }
    await scene.engine('other', { execute: false, storage: scene.storage })
    const asking = { ...storage, runs: { ...storage.runs, insert } }
    const one = await scene.engine('one', { storage: asking, ...(concurrency && { concurrency }) })
    one.engine.on('run', ({ id, status }) => void scene.told.push(`${id} ${status}`))
    await scene.clock.settle()
    scene.#calls = scene.steering.calls.length
    return scene
  }

  get one(): TestEngine {
    return this.#named(1)
  }

  get other(): TestEngine {
    return this.#named(0)
  }

  async engine(
    seed: string,
    options: { readonly storage: Storage; readonly execute?: boolean; readonly concurrency?: number },
  ): Promise<TestEngine> {
    const note = task({
      id: 'note',
      run: async (name: string, { ctx }) => {
        this.begun.push(`${name} ${ctx.attempt.number}`)
        if (name.startsWith('long')) await this.longEnough.promise
        return name
      },
    })
    const parent = task({
      id: 'parent',
      run: async (name: string) => tasks.triggerAndWait<Named>('note', name).unwrap(),
    })
    const engine = await createTestEngine({
      tasks: [note, parent, ...this.#more],
      clock: this.clock,
      seed,
      ...options,
    })
    this.#engines.push(engine)
    return engine
  }

  trigger(name: string): Promise<{ readonly id: string; result(): Promise<unknown> }> {
    return this.one.engine.tasks.trigger<Named>('note', name)
  }

  async recordOf(id: string): Promise<RunRecord> {
    const record = await this.storage.runs.get(id)
    if (record === undefined) throw new Error(`Cannot find run ${id}`)
    return record
  }

  countOf(name: string): number {
    return this.steering.calls.slice(this.#calls).filter((call) => call === name).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.longEnough.resolve()
    for (const engine of this.#engines.toReversed()) await engine.close()
  }

  #named(at: number): TestEngine {
    const opened = this.#engines[at]
    if (opened === undefined) throw new Error('Cannot use an engine of the scene: it is not open')
    return opened
  }
}

describe('a new run, on a storage that claims with the insert,', () => {
  it('starts without a claim of its own, and is told of as any other', async () => {
    await using t = await Scene.open()
    const run = await t.trigger('first')
    expect(await run.result()).toBe('first')
    expect(t.countOf('runs.claim')).toBe(0)
    expect(t.begun).toEqual(['first 1'])
    expect(t.told).toEqual(['QUEUED', 'EXECUTING', 'COMPLETED'].map((status) => `${run.id} ${status}`))
  })

  it('may be a child of a run', async () => {
    await using t = await Scene.open()
    const run = await t.one.engine.tasks.trigger<Named>('parent', 'child')
    expect(await run.result()).toBe('child')
    expect(t.asked).toEqual([true, true])
    expect(t.countOf('runs.claim')).toBe(0)
  })

  it('stands in line if its queue has a limit, it is put off, or it has a key', async () => {
    const narrow = task({ id: 'narrow', queue: { concurrencyLimit: 1 }, run: (name: string) => name })
    await using t = await Scene.open({ more: [narrow] })
    const { engine } = t.one
    const handles = [
      await engine.tasks.trigger<Named>('narrow', 'a'),
      await engine.tasks.trigger<Named>('note', 'b', { delay: '1s' }),
      await engine.tasks.trigger<Named>('note', 'c', { idempotencyKey: 'k' }),
    ]
    await t.clock.advance('1s')
    expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(['a', 'b', 'c'])
    expect(t.asked).toEqual([false, false, false])
  })

  it('takes no more slots than there are', async () => {
    await using t = await Scene.open({ concurrency: 2 })
    const answer = t.steering.holdAnswer('runs.insert')
    const first = t.trigger('long a')
    await turn()
    const handles = [first, ...['long b', 'long c'].map(async (name) => t.trigger(name))]
    await until(() => t.begun.length > 0)
    await turn()
    expect(t.begun).toEqual(['long b 1'])
    expect(t.asked).toEqual([true, true, false])
    answer()
    await until(() => t.begun.length > 1)
    await turn()
    expect(t.begun).toEqual(['long b 1', 'long a 1'])
    t.longEnough.resolve()
    for (const handle of handles) await (await handle).result()
    expect(t.one.engine.stats()).toMatchObject({ attempts: 0, executing: 0 })
  })

  it('keeps no slot if its parent has asked for it before and it executes here', async () => {
    await using t = await Scene.open({ concurrency: 4 })
    const { id } = await t.trigger('long a')
    await until(() => t.begun.length === 1)
    t.found = t.recordOf(id)
    const run = await t.one.engine.tasks.trigger<Named>('parent', 'long a')
    await until(() => t.one.engine.stats().waiting === 1)
    for (const name of ['long b', 'long c', 'long d']) await t.trigger(name)
    expect(t.asked).toEqual([true, true, true, true, true, true])
    expect(t.countOf('runs.claim')).toBe(0)
    t.longEnough.resolve()
    await run.result()
  })

  it('leaves its slot to runs that found none meanwhile if it was asked for before and is over', async () => {
    const busy = task({
      id: 'busy',
      run: async (name: string) => {
        await turn()
        await tasks.triggerAndWait<Named>('note', name)
        await longEnough.promise
        return name
      },
    })
    await using t = await Scene.open({ concurrency: 2, more: [busy] })
    const { longEnough } = t
    const { id } = await t.trigger('a')
    await until(() => t.one.engine.stats().attempts === 0)
    const answer = createDeferred<RunRecord>()
    t.found = answer.promise
    const run = await t.one.engine.tasks.trigger<Named>('busy', 'a')
    await until(() => t.asked.length === 3)
    await t.other.engine.tasks.trigger<Named>('note', 'b')
    await turn()
    expect(t.begun).toEqual(['a 1'])
    answer.resolve(await t.recordOf(id))
    await until(() => t.begun.length > 1)
    expect(t.begun).toEqual(['a 1', 'b 1'])
    longEnough.resolve()
    await run.result()
  })

  it('gives its slot back if its insert has failed', async () => {
    await using t = await Scene.open({ concurrency: 1 })
    const failed = t.steering.fail('runs.insert')
    await expect(t.trigger('lost')).rejects.toBe(failed)
    await t.clock.advance('1s')
    expect(await (await t.trigger('next')).result()).toBe('next')
    expect(t.begun).toEqual(['next 1'])
  })
})

describe('a new run whose insert has claimed it, of which the engine has not heard yet,', () => {
  it('does not begin once another engine has canceled it, nor keeps its slot', async () => {
    await using t = await Scene.open({ concurrency: 1 })
    const answer = t.steering.holdAnswer('runs.insert')
    const triggered = t.trigger('first')
    await turn()
    const [found] = (await t.other.engine.runs.list()).data
    await t.other.engine.runs.cancel(found?.id ?? '')
    await turn()
    answer()
    expect((await triggered).id).toBe(found?.id)
    expect(await (await t.trigger('second')).result()).toBe('second')
    expect(t.begun).toEqual(['second 1'])
    expect((await t.storage.runs.get(found?.id ?? ''))?.slot).toBe(false)
  })

  it('begins once, when the answer is lost', async () => {
    await using t = await Scene.open({ concurrency: 1 })
    const lost = t.steering.loseAnswer('runs.insert')
    await expect(t.trigger('first')).rejects.toBe(lost)
    await t.clock.advance('1s')
    await until(() => t.begun.length > 0)
    expect(await (await t.trigger('second')).result()).toBe('second')
    await t.clock.advance('5s')
    expect(t.begun).toEqual(['first 1', 'second 1'])
  })

  it('begins once, when the answer is lost and only the next claim has claimed it', async () => {
    await using t = await Scene.open()
    t.isBehind = true
    const lost = t.steering.loseAnswer('runs.insert')
    await expect(t.trigger('long first')).rejects.toBe(lost)
    await t.clock.jump('1s').catch(() => undefined)
    await until(() => t.begun.length > 0)
    await turn()
    expect(t.begun).toEqual(['long first 1'])
    t.longEnough.resolve()
    expect(await (await t.trigger('second')).result()).toBe('second')
  })

  it('begins once, when the answers to a claim and to a look at it are lost as well', async () => {
    await using t = await Scene.open()
    const lost = t.steering.loseAnswer('runs.insert')
    t.steering.loseAnswer('runs.claim')
    t.steering.fail('runs.get')
    await expect(t.trigger('first')).rejects.toBe(lost)
    for (let second = 0; second < 5; second += 1) await t.clock.advance('1s')
    expect(t.begun).toEqual(['first 1'])
  })

  it('begins once, when its insert comes after the claim that follows the lost answer', async () => {
    await using t = await Scene.open()
    const { storage } = t
    const late: RunInsert[] = []
    // The connection is cut, and the server has not seen the end of it.
    const cut = {
      ...storage,
      runs: {
        ...storage.runs,
        insert: (request: RunInsert) => {
          late.push(request)
          throw new Error('connection lost')
        },
      },
    }
    const heir = await t.engine('late', { storage: cut, concurrency: 1 })
    await expect(heir.engine.tasks.trigger<Named>('note', 'first')).rejects.toThrow('connection lost')
    await t.clock.advance('1s')
    for (const request of late) expect(await storage.runs.insert(request)).not.toHaveProperty('isClaimed')
    await heir.engine.tasks.trigger<Named>('note', 'second').catch(() => undefined)
    await t.clock.advance('20s')
    expect(t.begun).toEqual(['first 1'])
  })

  it('is asked for once in a second at most, as long as it cannot be read', async () => {
    await using t = await Scene.open({ concurrency: 1 })
    const lost = t.steering.loseAnswer('runs.insert')
    t.steering.fail('runs.get', 3)
    await expect(t.trigger('first')).rejects.toBe(lost)
    for (const claims of [1, 2, 3]) {
      await t.clock.advance('1s')
      for (let turns = 0; turns < 10; turns += 1) await turn()
      expect(t.countOf('runs.claim')).toBe(claims)
    }
    await t.clock.advance('1s')
    await until(() => t.begun.length > 0)
    expect(t.begun).toEqual(['first 1'])
  })

  it('is not asked for by an engine that has closed meanwhile', async () => {
    await using t = await Scene.open()
    const lost = t.steering.loseAnswer('runs.insert')
    await expect(t.trigger('first')).rejects.toBe(lost)
    const answer = t.steering.holdAnswer('runs.claim')
    await t.clock.jump('1s').catch(() => undefined)
    await until(() => t.countOf('runs.claim') === 1)
    await t.one.close()
    answer()
    await turn()
    expect(t.countOf('runs.get')).toBe(0)
    expect(t.begun).toEqual([])
  })

  it('is awaited no longer than until the engine closes', async () => {
    await using t = await Scene.open()
    const lost = t.steering.loseAnswer('runs.insert')
    await expect(t.trigger('first')).rejects.toBe(lost)
    const [{ id } = { id: '' }] = (await t.other.engine.runs.list()).data
    const { claimer } = kernelOf(t.one.engine)
    const answered = claimer.answered(id)
    await t.one.close()
    await answered
    await claimer.answered(id)
    expect(t.begun).toEqual([])
  })

  it('is left to other engines at once by one that closes, and lets others of its runs go on', async () => {
    const busy = task({ id: 'busy', run: (name: string) => t.clock.external(goOn.promise.then(() => name)) })
    const goOn = createDeferred<void>()
    await using t = await Scene.open({ more: [busy] })
    await t.one.engine.tasks.trigger<Named>('busy', '')
    const answer = t.steering.holdAnswer('runs.insert')
    const triggered = t.trigger('first').catch((error: unknown) => error)
    await turn()
    const closed = t.one.engine.close({ drainMs: '1h' })
    answer()
    await triggered
    await t.engine('next', { storage: t.storage })
    await until(() => t.begun.length > 0)
    expect(t.begun).toEqual(['first 2'])
    goOn.resolve()
    await closed
  })

  it('is left to the next engine, without an interruption, by one that closes meanwhile', async () => {
    await using t = await Scene.open()
    const answer = t.steering.holdAnswer('runs.insert')
    const triggered = t.trigger('first').catch((error: unknown) => error)
    await turn()
    await t.one.close()
    answer()
    await triggered
    await turn()
    expect(t.begun).toEqual([])
    await t.engine('next', { storage: t.storage })
    await until(() => t.begun.length > 0)
    expect(t.begun).toEqual(['first 2'])
    expect((await t.storage.runs.list({}, { limit: 1 })).records[0]?.interruptions).toBe(0)
  })
})
