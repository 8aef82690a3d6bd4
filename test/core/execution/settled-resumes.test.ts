import { describe, expect, it } from 'vitest'
import { type Task, task, wait } from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import type { RunRecord } from '../../../src/contract/records.ts'
import { kernelOf } from '../../../src/core/engine.ts'
import { createDeferred, type Deferred } from '../../../src/primitives/deferred.ts'
import { resumingMemory } from '../../support/resuming-memory.ts'
import { type SteeredStorage, steeredStorage } from '../../support/steered-storage.ts'
import { until } from '../../support/turn.ts'

type Work = Task<readonly (readonly string[])[], void>

const IDLE = { attempts: 0, executing: 0, waits: 0 }

/** An engine on a storage that resumes runs with the tokens they wait for, whose answers can be held back or lost. */
class Scene implements AsyncDisposable {
  readonly t: TestEngine
  readonly steering: SteeredStorage
  /** What the runs got, in order. */
  readonly got: string[]
  /** Runs that wait for no token execute until then. */
  readonly longEnough: Deferred<void>
  #calls = 0

  private constructor({
    t,
    steering,
    got,
    longEnough,
  }: Pick<Scene, 't' | 'steering' | 'got' | 'longEnough'>) {
    this.t = t
    this.steering = steering
    this.got = got
    this.longEnough = longEnough
  }

  static async open({ concurrency = 10 } = {}): Promise<Scene> {
    const steering = steeredStorage(resumingMemory(), { resumesWaiting: true })
    const got: string[] = []
    const longEnough = createDeferred<void>()
    const work: Work = task({
      id: 'work',
      queue: { name: 'desk' },
      run: async (rounds: readonly (readonly string[])[]) => {
        if (rounds.length === 0) await longEnough.promise
        for (const tokens of rounds) {
          const first = await Promise.race(tokens.map((token) => wait.forToken<string>(token).unwrap()))
          got.push(first)
        }
      },
    })
    const clock = { mode: 'manual' } as const
    const t = await createTestEngine({ tasks: [work], storage: steering.storage, concurrency, clock })
    return new Scene({ t, steering, got, longEnough })
  }

  async token(): Promise<string> {
    return (await this.t.engine.wait.createToken({ timeout: '1d' })).id
  }

  /** A parked run, which waits for one of the first tokens, then for one of the next. */
  async parked(...rounds: readonly (readonly string[])[]): Promise<string> {
    const { id } = await this.t.engine.tasks.trigger<Work>('work', rounds)
    await until(() => kernelOf(this.t.engine).executor.attempts.get(id)?.is('parked') === true)
    this.#calls = this.steering.calls.length
    return id
  }

  isInLine(id: string): boolean {
    return kernelOf(this.t.engine).executor.attempts.get(id)?.is('queued') === true
  }

  complete(token: string, output: string = token): Promise<unknown> {
    return this.t.engine.wait.completeToken(token, output)
  }

  async recordOf(id: string): Promise<RunRecord | undefined> {
    return this.steering.storage.runs.get(id)
  }

  /** Another engine has come, and finds that the lease of this one has ended. */
  async loseLease(): Promise<void> {
    const { storage } = this.steering
    const { owner } = kernelOf(this.t.engine).host
    const now = this.t.clock.now() + 3_600_000
    const other = { owner: 'other', leaseUntil: now + 1, now, limit: 1 }
    await storage.tick({ ...other, now: this.t.clock.now() })
    await storage.tick(other)
    await storage.leave({ owner: 'other', now })
    kernelOf(this.t.engine).ticker.tickNow()
    await until(() => kernelOf(this.t.engine).host.owner !== owner)
  }

  countOf(name: string): number {
    return this.steering.calls.slice(this.#calls).filter((call) => call === name).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.longEnough.resolve()
    await this.t.close()
  }
}

describe('a parked run, on a storage that resumes it with its token,', () => {
  it('goes on without a resume of its own, and parks again as any other', async () => {
    await using s = await Scene.open()
    const [one, two] = [await s.token(), await s.token()]
    const id = await s.parked([one], [two])
    await s.complete(one)
    await until(() => s.got.length === 1)
    expect(s.countOf('runs.resume')).toBe(0)
    await until(() => s.countOf('runs.park') === 1)
    expect(await s.recordOf(id)).toMatchObject({ status: 'WAITING', slot: false })
    await until(() => s.t.engine.stats().executing === 0)
    await s.complete(two)
    await until(() => s.t.engine.stats().attempts === 0)
    expect([s.got, s.countOf('runs.resume')]).toEqual([[one, two], 0])
    expect(s.t.engine.stats()).toMatchObject(IDLE)
  })

  it('is not resumed while the engine has no slot for it', async () => {
    await using s = await Scene.open({ concurrency: 1 })
    const token = await s.token()
    const id = await s.parked([token])
    await s.t.engine.tasks.trigger<Work>('work', [])
    await until(() => s.t.engine.stats().executing === 1)
    await s.complete(token)
    expect(await s.recordOf(id)).toMatchObject({ status: 'WAITING' })
    expect(s.got).toEqual([])
    s.longEnough.resolve()
    await until(() => s.got.length === 1)
    expect(s.countOf('runs.resume')).toBe(1)
  })

  it('is not resumed with more runs than there are slots', async () => {
    await using s = await Scene.open({ concurrency: 1 })
    const [one, two] = [await s.token(), await s.token()]
    await s.parked([one])
    await s.parked([two])
    const answers = [s.steering.holdAnswer('tokens.settle'), s.steering.holdAnswer('tokens.settle')]
    const completed = [s.complete(one), s.complete(two)]
    await until(() => s.countOf('tokens.settle') === 2)
    const statuses = async (): Promise<unknown> =>
      (await s.t.engine.runs.list({ taskIdentifier: 'work' })).data.map(({ status }) => status).sort()
    expect(await statuses()).toEqual(['EXECUTING', 'WAITING'])
    for (const answer of answers) answer()
    await Promise.all(completed)
    await until(() => s.got.length === 2 && s.t.engine.stats().executing === 0)
  })

  it('waits for a slot that another run took while the answer was out, and is not resumed once more', async () => {
    await using s = await Scene.open({ concurrency: 1 })
    const token = await s.token()
    await s.parked([token])
    const answer = s.steering.holdAnswer('tokens.settle')
    const completed = s.complete(token)
    await until(() => s.countOf('tokens.settle') === 1)
    await s.t.engine.tasks.trigger<Work>('work', [])
    await until(() => s.t.engine.stats().executing === 1)
    answer()
    await completed
    expect([s.got, s.t.engine.stats().executing]).toEqual([[], 1])
    s.longEnough.resolve()
    await until(() => s.got.length === 1)
    expect(s.countOf('runs.resume')).toBe(0)
  })

  it.each(['fail', 'loseAnswer'] as const)(
    'goes on when the completion is not acknowledged: %s',
    async (how) => {
      await using s = await Scene.open()
      const token = await s.token()
      await s.parked([token])
      s.steering[how]('tokens.settle')
      await expect(s.complete(token)).rejects.toThrow('no answer')
      if (how === 'fail') await s.complete(token)
      await s.t.clock.advance('1m')
      await until(() => s.t.engine.stats().attempts === 0)
      expect(s.got).toEqual([token])
      expect(s.t.engine.stats()).toMatchObject(IDLE)
    },
  )

  it('is not held up by a completion that is out when another token is completed', async () => {
    await using s = await Scene.open()
    const [one, two] = [await s.token(), await s.token()]
    await s.parked([one, two])
    const letGo = s.steering.holdCall('tokens.settle')
    const completed = s.complete(one)
    await until(() => s.countOf('tokens.settle') === 1)
    await s.complete(two)
    await until(() => s.t.engine.stats().attempts === 0)
    letGo()
    await completed
    expect(s.got).toEqual([two])
    expect(s.t.engine.stats()).toMatchObject(IDLE)
  })

  it('is not taken for resumed when it has gone on and parked again before the answer came', async () => {
    await using s = await Scene.open()
    const [one, two, three] = [await s.token(), await s.token(), await s.token()]
    const id = await s.parked([one, two], [three])
    const answer = s.steering.holdAnswer('tokens.settle')
    const completed = s.complete(one)
    await until(() => s.countOf('tokens.settle') === 1)
    await s.complete(two)
    await until(() => s.countOf('runs.park') === 1)
    await until(() => s.t.engine.stats().executing === 0)
    answer()
    await completed
    await s.t.clock.settle()
    expect([s.t.engine.stats().executing, s.countOf('runs.park')]).toEqual([0, 1])
    expect(await s.recordOf(id)).toMatchObject({ status: 'WAITING', slot: false })
    await s.complete(three)
    await until(() => s.t.engine.stats().attempts === 0)
    expect(s.got).toEqual([two, three])
  })

  it('that is canceled while the answer is out has ended', async () => {
    await using s = await Scene.open()
    const token = await s.token()
    const id = await s.parked([token])
    const answer = s.steering.holdAnswer('tokens.settle')
    const completed = s.complete(token)
    await until(() => s.countOf('tokens.settle') === 1)
    await s.t.engine.runs.cancel(id)
    answer()
    await completed
    await until(() => s.t.engine.stats().attempts === 0)
    expect(await s.recordOf(id)).toMatchObject({ status: 'CANCELED' })
    expect([s.got, s.t.engine.stats().executing]).toEqual([[], 0])
  })

  it('goes on before a run that waits for its slot of a queue that was limited while the answer was out', async () => {
    await using s = await Scene.open()
    const [one, two] = [await s.token(), await s.token()]
    await s.parked([one])
    const other = await s.parked([two])
    const answer = s.steering.holdAnswer('tokens.settle')
    const completed = s.complete(one)
    await until(() => s.countOf('tokens.settle') === 1)
    await s.t.engine.queue('desk').setLimit(1)
    await s.complete(two)
    await until(() => s.isInLine(other))
    answer()
    await completed
    await until(() => s.got.length === 2)
    expect(s.got).toEqual([one, two])
  })

  it('goes on also if it was in line for a slot of its queue when the answer came', async () => {
    await using s = await Scene.open()
    const [one, two, three] = [await s.token(), await s.token(), await s.token()]
    await s.parked([one, two])
    const other = await s.parked([three])
    const answer = s.steering.holdAnswer('tokens.settle')
    const completed = s.complete(one)
    await until(() => s.countOf('tokens.settle') === 1)
    await s.t.engine.queue('desk').setLimit(1)
    await s.complete(three)
    await until(() => s.isInLine(other))
    await s.complete(two)
    answer()
    await completed
    await until(() => s.got.length === 2)
    expect(s.got).toEqual([two, three])
  })

  it.each(['holdCall', 'holdAnswer'] as const)(
    'is executed again if its engine loses its lease while the completion is under way: %s',
    async (hold) => {
      await using s = await Scene.open()
      const token = await s.token()
      const id = await s.parked([token])
      const settle = s.steering[hold]('tokens.settle')
      const completed = s.complete(token)
      await s.loseLease()
      settle()
      await completed
      await until(() => s.t.engine.stats().attempts === 0 && s.got.length > 0)
      expect(await s.recordOf(id)).toMatchObject({ status: 'COMPLETED' })
    },
  )

  it('of a paused queue stays where it is', async () => {
    await using s = await Scene.open()
    const token = await s.token()
    const id = await s.parked([token])
    await s.t.engine.queue('desk').pause()
    await s.complete(token)
    await s.t.clock.settle()
    expect([s.got, (await s.recordOf(id))?.status]).toEqual([[], 'WAITING'])
    await s.t.engine.queue('desk').resume()
    await until(() => s.got.length === 1)
  })
})
