import { describe, expect, it } from 'vitest'
import { type AnyTask, memoryStorage, once, type Task, task, wait } from 'waitpoint'
import { createTestEngine, type TestEngine, testClock } from 'waitpoint/testing'
import type { Storage } from '../../src/contract/storage.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { alwaysAsync } from '../../src/testing/storages/async.ts'
import { abandonable } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import { type SteeredStorage, steeredStorage } from '../support/steered-storage.ts'

/** An engine on a storage whose calls can be failed, and a clock that only moves when it is told to. */
async function steered(...tasks: AnyTask[]): Promise<SteeredEngine> {
  return steeredOn(memoryStorage(), tasks)
}

type SteeredEngine = TestEngine & { readonly steering: SteeredStorage }

async function steeredOn(storage: Storage, tasks: readonly AnyTask[]): Promise<SteeredEngine> {
  const steering = steeredStorage(storage)
  const t = await createTestEngine({ tasks, storage: steering.storage, clock: { mode: 'manual' } })
  await t.clock.settle()
  return { ...t, steering }
}

const statusOf = async (t: TestEngine, id: string): Promise<string> =>
  (await t.engine.runs.retrieve(id)).status

async function* endless(): AsyncGenerator<number> {
  yield 1
  await new Promise<never>(() => undefined)
}

describe('an answer that is lost after its effect', () => {
  it('of a completion: asked again, it says who won, and the run goes on', async () => {
    let id = ''
    const ask = bodyTask(() => wait.forToken(id).unwrap())
    const t = await steered(ask)
    id = (await t.engine.wait.createToken({ timeout: '30d' })).id
    const run = await t.engine.trigger(ask, null)
    await t.clock.settle()
    t.steering.loseAnswer('tokens.settle')
    await expect(t.engine.wait.completeToken(id, 'yes')).rejects.toThrow('no answer')
    expect(await t.engine.wait.completeToken(id, 'yes')).toEqual({ success: false, status: 'COMPLETED' })
    await t.clock.advance('50m')
    expect(await statusOf(t, run.id)).toBe('COMPLETED')
    await t.close()
  })

  it('of a completion: the run goes on soon, also when it is not repeated and another deadline comes first', async () => {
    let id = ''
    const ask = bodyTask(() => wait.forToken(id).unwrap())
    const t = await steered(ask)
    id = (await t.engine.wait.createToken({ timeout: '30d' })).id
    await t.engine.wait.createToken({ timeout: '1d' })
    const run = await t.engine.trigger(ask, null)
    await t.clock.settle()
    t.steering.loseAnswer('tokens.settle')
    await expect(t.engine.wait.completeToken(id, 'yes')).rejects.toThrow('no answer')
    await t.clock.advance('2s')
    expect(await statusOf(t, run.id)).toBe('COMPLETED')
    await t.close()
  })

  it('of a cancel: a parent that waits for the run goes on soon, also when it is not repeated', async () => {
    const child = bodyTask(() => 1, { id: 'child' })
    const parent = bodyTask(
      async ({ tasks }) =>
        (await tasks.triggerAndWait<typeof child>('child', null, { delay: '30d', tags: 'late' })).ok,
    )
    const t = await steered(child, parent)
    const run = await t.engine.trigger(parent, null)
    await t.clock.settle()
    const [late] = (await t.engine.runs.list({ tag: 'late' })).data
    t.steering.loseAnswer('runs.update')
    await expect(t.engine.runs.cancel(late?.id ?? '')).rejects.toThrow('no answer')
    await t.clock.advance('2s')
    expect(await t.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED', output: false })
    await t.close()
  })

  it('of a trigger: repeated with its key, the run is executed', async () => {
    const one = bodyTask(() => 1)
    const t = await steered(one)
    t.steering.loseAnswer('runs.insert')
    await expect(t.engine.trigger(one, null, { idempotencyKey: 'k' })).rejects.toThrow('no answer')
    const run = await t.engine.trigger(one, null, { idempotencyKey: 'k' })
    await t.clock.settle()
    expect(await statusOf(t, run.id)).toBe('COMPLETED')
    await t.close()
  })

  it('of the write before a retry: the next attempt comes when it is due', async () => {
    let calls = 0
    const flaky = bodyTask(
      () => {
        calls += 1
        if (calls === 1) throw new Error('busy')
        return calls
      },
      { retry: { maxAttempts: 3, minTimeoutInMs: 5_000, randomize: false } },
    )
    const t = await steered(flaky)
    t.steering.loseAnswer('runs.update')
    const run = await t.engine.trigger(flaky, null)
    await t.clock.advance('10s')
    expect(await statusOf(t, run.id)).toBe('COMPLETED')
    await t.close()
  })

  it('of a tick, with the read after it failing: the sleep ends all the same', async () => {
    const nap = bodyTask(() => wait.for({ minutes: 10 }))
    const t = await steered(nap)
    const run = await t.engine.trigger(nap, null)
    await t.clock.settle()
    t.steering.loseAnswer('tick')
    t.steering.fail('tokens.get')
    await t.clock.advance('11m')
    expect(await statusOf(t, run.id)).toBe('COMPLETED')
    await t.close()
  })

  it('of a cancel: repeated, the run is told', async () => {
    const nap = bodyTask(() => wait.for({ days: 30 }))
    const t = await steered(nap)
    const run = await t.engine.trigger(nap, null)
    const outcome = run.outcome()
    await t.clock.settle()
    t.steering.loseAnswer('runs.update')
    await expect(t.engine.runs.cancel(run)).rejects.toThrow('no answer')
    expect(await t.engine.runs.cancel(run)).toEqual({ id: run.id })
    expect(await outcome).toMatchObject({ ok: false, error: { code: 'ERR_RUN_CANCELED' } })
    await t.clock.settle()
    expect(t.engine.stats().attempts).toBe(0)
    await t.close()
  })
})

describe.each([
  ['at once', () => memoryStorage()],
  ['later', () => alwaysAsync(memoryStorage())],
])('the end of a run whose answer is lost, on a storage that answers %s', (_when, open) => {
  async function ended(t: SteeredEngine, task: Task<null, unknown>, isLookFailing = false): Promise<unknown> {
    const told: string[] = []
    t.engine.on('run', ({ status }) => told.push(status))
    const run = await t.engine.trigger(task, null)
    let outcome: object | undefined
    const awaited = run.outcome().then((value) => (outcome = value))
    await t.clock.settle()
    t.steering.loseAnswer('runs.update')
    if (isLookFailing) t.steering.fail('runs.get')
    await t.clock.advance('1m')
    const seen = { told, outcome }
    await t.close()
    await awaited
    return seen
  }

  it('is told when it came by maxDuration', async () => {
    const slow = bodyTask(() => t.clock.sleep('8s'), { maxDuration: '5s' })
    const t: SteeredEngine = await steeredOn(open(), [slow])
    expect(await ended(t, slow)).toMatchObject({
      told: ['QUEUED', 'EXECUTING', 'TIMED_OUT'],
      outcome: { ok: false, error: { code: 'ERR_RUN_TIMED_OUT' } },
    })
  })

  it('is told also when storage cannot be asked at first what became of it', async () => {
    const nap = bodyTask(async () => {
      await t.clock.sleep('1s')
      return 1
    })
    const t: SteeredEngine = await steeredOn(open(), [nap])
    expect(await ended(t, nap, true)).toMatchObject({
      told: ['QUEUED', 'EXECUTING', 'COMPLETED'],
      outcome: { ok: true, output: 1 },
    })
  })
})

describe('a run that returns while it waits', () => {
  it('is completed by the next engine when its own dies while it drains', async () => {
    const [clock, storage, go] = [testClock({ mode: 'manual' }), memoryStorage(), createDeferred<undefined>()]
    let calls = 0
    const race = bodyTask(async ({ metadata }) => {
      calls += 1
      await metadata.stream('s', endless())
      await Promise.race([wait.forToken(await wait.createToken({ timeout: '30d' })), go.promise])
      return 'done'
    })
    const ports = abandonable(clock, storage)
    const first = await createTestEngine({ tasks: [race], storage: ports.storage, clock: ports.clock })
    const run = await first.engine.trigger(race, null)
    await clock.settle()
    go.resolve(undefined)
    await clock.settle()
    ports.abandon()
    await using next = await createTestEngine({ tasks: [race], storage, clock, seed: 2 })
    await clock.advance('1m')
    expect(await next.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED', output: 'done' })
    expect(calls).toBe(1)
  })

  it('gives its slot back once, also when its park is still being stored', async () => {
    const go = createDeferred<undefined>()
    const race = task({
      id: 'race',
      run: async (_: null, { metadata }) => {
        await Promise.race([wait.forToken(await wait.createToken({ timeout: '30d' })), go.promise])
        await metadata.stream('s', endless())
      },
    })
    let [now, most] = [0, 0]
    const busy = task({
      id: 'busy',
      run: async () => {
        now += 1
        most = Math.max(most, now)
        await wait.createToken() // an engine call, but no wait
        await t.clock.sleep('1m')
        now -= 1
      },
    })
    const steering = steeredStorage(memoryStorage())
    const clock = testClock({ mode: 'manual' })
    const t = await createTestEngine({
      tasks: [race, busy],
      storage: steering.storage,
      clock,
      concurrency: 1,
    })
    await t.clock.settle()
    steering.fail('runs.park')
    await t.engine.trigger(race, null)
    await t.clock.settle()
    go.resolve(undefined)
    await t.clock.advance('2s')
    for (let count = 0; count < 4; count += 1) await t.engine.trigger(busy, undefined)
    await t.clock.advance('30s')
    expect(t.engine.stats().executing).toBe(1)
    expect(most).toBe(1)
    await t.close()
  })
})

describe('cancel', () => {
  it('does not touch a child of another run', async () => {
    const child = task({ id: 'child', run: async () => wait.for({ minutes: 10 }) })
    const parent = task({
      id: 'parent',
      run: async (_: number, { tasks }) =>
        tasks.triggerAndWait<typeof child>('child', undefined, { idempotencyKey: 'shared' }).unwrap(),
    })
    const t = await steered(child, parent)
    const one = await t.engine.trigger(parent, 1)
    await t.clock.settle()
    const two = await t.engine.trigger(parent, 2)
    await t.clock.settle()
    await t.engine.runs.cancel(two)
    await t.clock.advance('20m')
    expect(await statusOf(t, one.id)).toBe('COMPLETED')
    await t.close()
  })

  it('keeps the effect of once from being run when it comes first', async () => {
    let mails = 0
    const mail = bodyTask(() => once('mail', () => (mails += 1)))
    const t = await steered(mail)
    const release = t.steering.holdAnswer('tokens.insert')
    const run = await t.engine.trigger(mail, null)
    for (let hop = 0; hop < 60; hop += 1) await Promise.resolve()
    await t.engine.runs.cancel(run)
    release()
    await t.clock.settle()
    expect(mails).toBe(0)
    await t.close()
  })
})

describe('maxDuration', () => {
  it('does not count the time that storing the output takes', async () => {
    const paid = bodyTask(() => 'paid', { maxDuration: '2500ms' })
    const t = await steered(paid)
    t.steering.fail('runs.update', 3)
    const run = await t.engine.trigger(paid, null)
    await t.clock.advance('1m')
    expect(await statusOf(t, run.id)).toBe('COMPLETED')
    await t.close()
  })
})
