import { describe, expect, it } from 'vitest'
import {
  type AnyTask,
  type Engine,
  memoryStorage,
  type Storage,
  StorageUnavailableError,
  task,
  wait,
  WaitpointError,
} from 'waitpoint'
import { createTestEngine, type TestClock, testClock, type TestEngine } from 'waitpoint/testing'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { abandonable, projectStorage } from '../support/abandon.ts'
import { bodyTask, rejection } from '../support/body-task.ts'
import { steeredStorage } from '../support/steered-storage.ts'
import { until } from '../support/turn.ts'
import { exploreAll } from '../testing/exploration/bodies.ts'

const FIVE = { debounce: { key: 'k', delay: '5s' } } as const
const LAST = { debounce: { ...FIVE.debounce, mode: 'trailing' } } as const

/** Counts its executions in what it answers. */
function countingTask(): { readonly index: ReturnType<typeof indexing>; readonly executed: unknown[] } {
  const executed: unknown[] = []
  return { index: indexing(executed), executed }
}

function indexing(executed: unknown[]) {
  return task({
    id: 'index',
    run: (payload: string) => `${payload} ${executed.push(payload)}`,
  })
}

function codeOf(error: unknown): unknown {
  return error instanceof WaitpointError ? error.code : String(error)
}

interface Machines {
  readonly clock: TestClock
  readonly engine: Engine
  /** The process dies; another one starts on the same storage, and the lease of the dead one runs out. */
  restart(): Promise<void>
}

/** One process after the other on one storage and one clock. */
async function onMachines(
  tasks: readonly AnyTask[],
  body: (machines: Machines) => Promise<void>,
): Promise<void> {
  const storage = projectStorage()
  await using clock = testClock({ mode: 'manual' })
  const retention = { maxAge: '10m' }
  let seed = 0
  const start = async (): Promise<{ t: TestEngine; abandon: () => void }> => {
    const ports = abandonable(clock, storage)
    const options = { tasks, clock: ports.clock, storage: ports.storage, retention }
    return { t: await createTestEngine({ ...options, seed: (seed += 1) }), abandon: () => ports.abandon() }
  }
  let current = await start()
  try {
    await body({
      clock,
      get engine() {
        return current.t.engine
      },
      restart: async () => {
        current.abandon()
        current = await start()
        await clock.advance('31s')
      },
    })
  } finally {
    await current.t.close()
  }
}

describe('triggerAndWait with debounce', () => {
  it('makes a run that begins after its delay, and answers with its output', async () => {
    const { index } = countingTask()
    const parent = bodyTask(async () => index.triggerAndWait('a', FIVE))
    await using t = await createTestEngine({ tasks: [parent, index], clock: { mode: 'manual' } })
    const from = t.clock.now()
    const run = await t.engine.trigger(parent, null)
    await t.clock.advance('6s')
    const [child] = (await t.engine.runs.list({ taskIdentifier: 'index' })).data
    expect(await run.result()).toEqual({
      ok: true,
      id: child?.id,
      taskIdentifier: 'index',
      output: 'a 1',
    })
    expect(await t.engine.runs.retrieve(child?.id ?? '')).toMatchObject({
      debounceKey: 'k',
      parentId: run.id,
      startedAt: new Date(from + 5_000),
    })
  })

  it.each([
    ['leading', FIVE, 'outside 1'],
    ['trailing', LAST, 'inside 1'],
  ] as const)('waits, %s, for the run of another trigger, which it puts off', async (_, options, output) => {
    const { index } = countingTask()
    const parent = bodyTask(async () => index.triggerAndWait('inside', options).unwrap())
    await using t = await createTestEngine({ tasks: [parent, index], clock: { mode: 'manual' } })
    const from = t.clock.now()
    const child = await t.engine.trigger(index, 'outside', options)
    await t.clock.advance('3s')
    const run = await t.engine.trigger(parent, null)
    await t.clock.advance('1m')
    expect(await run.result()).toBe(output)
    expect((await t.engine.runs.retrieve(child)).startedAt).toEqual(new Date(from + 8_000))
    expect((await t.engine.runs.list({ taskIdentifier: 'index' })).data).toHaveLength(1)
  })

  it('goes on waiting when a trigger puts its run off further, for which the last one counts', async () => {
    const { index, executed } = countingTask()
    const parent = bodyTask(async () => index.triggerAndWait('inside', LAST).unwrap())
    await using t = await createTestEngine({ tasks: [parent, index], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(parent, null)
    for (const payload of ['one', 'two', 'three']) {
      await t.clock.advance('4s')
      expect((await t.engine.trigger(index, payload, LAST)).isCached).toBe(true)
    }
    await t.clock.advance('4s')
    expect([(await t.engine.runs.retrieve(run)).status, executed]).toEqual(['WAITING', []])
    await t.clock.advance('1s')
    expect(await run.result()).toBe('three 1')
  })

  it('waits for its run although a trigger after maxDelay has made another', async () => {
    const { index } = countingTask()
    const options = { debounce: { ...LAST.debounce, maxDelay: '6s' } } as const
    const parent = bodyTask(async () => index.triggerAndWait('inside', options).unwrap())
    await using t = await createTestEngine({ tasks: [parent, index], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(parent, null)
    await t.clock.advance('2s')
    const another = await t.engine.trigger(index, 'outside', options)
    expect(another.isCached).toBe(false)
    await t.clock.advance('1m')
    expect([await run.result(), await another.result()]).toEqual(['inside 1', 'outside 2'])
  })

  it('releases each of the parents that wait for one run once, and in one parent each of its places', async () => {
    const { index } = countingTask()
    const released: string[] = []
    const parent = task({
      id: 'parent',
      run: async (name: string) => {
        const places = [1, 2].map(async (place) => {
          const output = await index.triggerAndWait(`${name}${place}`, FIVE).unwrap()
          released.push(`${name}${place}`)
          return output
        })
        return Promise.all(places)
      },
    })
    await using t = await createTestEngine({ tasks: [parent, index], clock: { mode: 'manual' } })
    const runs: { result(): Promise<unknown> }[] = []
    for (const name of ['a', 'b', 'c']) {
      runs.push(await t.engine.trigger(parent, name))
      await t.clock.advance('1s')
    }
    await t.clock.advance('1m')
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(
      ['a', 'b', 'c'].map(() => ['a1 1', 'a1 1']),
    )
    expect(released.toSorted()).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'c2'])
  })

  it('is a run of many items of a batch, and of batches of several tasks', async () => {
    const { index } = countingTask()
    const parent = bodyTask(async ({ tasks }) => {
      const items = ['a', 'b', 'c'].map((payload) => ({ payload, options: LAST }))
      const { runs } = await tasks.batchTriggerAndWait<typeof index>('index', items)
      return runs.map((run) => (run.ok ? run.output : run.error.message))
    })
    await using t = await createTestEngine({ tasks: [parent, index], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(parent, null)
    await t.clock.advance('1m')
    expect(await run.result()).toEqual(['c 1', 'c 1', 'c 1'])
  })

  it('asks anew in the next attempt of a retry', async () => {
    const { index } = countingTask()
    const outputs: string[] = []
    const parent = bodyTask(
      async () => {
        outputs.push(await index.triggerAndWait('a', FIVE).unwrap())
        if (outputs.length === 1) throw new Error('once more')
        return outputs
      },
      { retry: { maxAttempts: 2, minTimeoutInMs: 1, randomize: false } },
    )
    await using t = await createTestEngine({ tasks: [parent, index], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(parent, null)
    await t.clock.advance('1m')
    expect(await run.result()).toEqual(['a 1', 'a 2'])
  })

  it('answers the failure of a run that another trigger has made', async () => {
    const index = task({
      id: 'index',
      run: (payload: string) => {
        throw new Error(`cannot index ${payload}`)
      },
    })
    const parent = bodyTask(async () => index.triggerAndWait('inside', FIVE))
    await using t = await createTestEngine({ tasks: [parent, index], clock: { mode: 'manual' } })
    const child = await t.engine.trigger(index, 'outside', FIVE)
    const run = await t.engine.trigger(parent, null)
    await t.clock.advance('1m')
    expect(await run.result()).toMatchObject({
      ok: false,
      id: child.id,
      error: { message: expect.stringContaining('cannot index outside') as unknown },
    })
  })

  it.each([
    ['no delay', { debounce: { key: 'k' } }, 'debounce.delay'],
    ['a key that is no text', { debounce: { key: {}, delay: 1 } }, 'debounce.key'],
    ['an idempotencyKey', { ...FIVE, idempotencyKey: 'i' }, 'with an idempotencyKey'],
  ])('refuses %s, before anything is stored', async (_, options, message) => {
    const { index } = countingTask()
    const parent = bodyTask(() => index.triggerAndWait('a', options as never).then(String, String))
    await using t = await createTestEngine({ tasks: [parent, index] })
    expect(await (await t.engine.trigger(parent, null)).result()).toContain(message)
    expect((await t.engine.runs.list({ taskIdentifier: 'index' })).data).toEqual([])
  })

  it('is refused on a storage that cannot put a run off', async () => {
    const { index } = countingTask()
    const { debounces: _, ...storage } = memoryStorage()
    const parent = bodyTask(() => rejection(index.triggerAndWait('a', FIVE)).then(codeOf))
    await using t = await createTestEngine({ tasks: [parent, index], storage })
    expect(await (await t.engine.trigger(parent, null)).result()).toBe('ERR_DEBOUNCE_UNSUPPORTED')
  })
})

describe('a parent of a debounced run that is canceled', () => {
  const setting = (): {
    readonly tasks: readonly AnyTask[]
    readonly parent: ReturnType<typeof parentOf>
  } => {
    const { index } = countingTask()
    const parent = parentOf(index)
    return { tasks: [parent, index], parent }
  }

  const parentOf = (index: ReturnType<typeof indexing>) =>
    task({ id: 'parent', run: async (name: string) => index.triggerAndWait(name, FIVE) })

  it('leaves a run that another trigger has made, for which others go on waiting', async () => {
    const { tasks, parent } = setting()
    await using t = await createTestEngine({ tasks, clock: { mode: 'manual' } })
    const first = await t.engine.trigger(parent, 'first')
    await t.clock.settle()
    const second = await t.engine.trigger(parent, 'second')
    await t.clock.settle()
    await t.engine.runs.cancel(second)
    await t.clock.advance('1m')
    expect(await first.result()).toMatchObject({ ok: true, output: 'first 1' })
    expect(await second.outcome()).toMatchObject({ ok: false })
  })

  it('takes the run that it has made along, as it does any child, and others that wait are told', async () => {
    const { tasks, parent } = setting()
    await using t = await createTestEngine({ tasks, clock: { mode: 'manual' } })
    const first = await t.engine.trigger(parent, 'first')
    await t.clock.settle()
    const second = await t.engine.trigger(parent, 'second')
    await t.clock.settle()
    await t.engine.runs.cancel(first)
    await t.clock.settle()
    const [child] = (await t.engine.runs.list({ taskIdentifier: 'index' })).data
    expect(child?.status).toBe('CANCELED')
    expect(await second.result()).toMatchObject({
      ok: false,
      id: child?.id,
      error: { code: 'ERR_RUN_CANCELED' },
    })
  })

  it('takes it along when it is canceled while the run is being stored', async () => {
    const { index } = countingTask()
    const steered = steeredStorage(memoryStorage())
    const gate = createDeferred<undefined>()
    const late = bodyTask(async () => {
      await gate.promise
      return index.triggerAndWait('late', FIVE)
    })
    await using t = await createTestEngine({
      tasks: [late, index],
      storage: steered.storage,
      clock: { mode: 'manual' },
    })
    const run = await t.engine.trigger(late, null)
    const release = steered.holdAnswer('runs.insert')
    gate.resolve(undefined)
    await until(() => steered.calls.filter((name) => name === 'runs.insert').length === 2)
    await t.engine.runs.cancel(run)
    release()
    await t.clock.settle()
    const { data } = await t.engine.runs.list({ taskIdentifier: 'index' })
    expect(data.map(({ status }) => status)).toEqual(['CANCELED'])
  })
})

describe('a parent of a debounced run whose process dies', () => {
  it('finds the run by its place, and does not put it off again', async () => {
    const { index, executed } = countingTask()
    const parent = bodyTask(async () => index.triggerAndWait('inside', LAST).unwrap())
    const slow = { debounce: { ...LAST.debounce, delay: '1m' } } as const
    const waiting = bodyTask(async () => index.triggerAndWait('inside', slow).unwrap(), { id: 'waiting' })
    await onMachines([parent, waiting, index], async (machines) => {
      const from = machines.clock.now()
      const child = await machines.engine.trigger(index, 'outside', slow)
      const run = await machines.engine.trigger(waiting, null)
      await machines.clock.advance('10s')
      await machines.engine.trigger(index, 'last', slow)
      await machines.restart()
      const { status, delayedUntil } = await machines.engine.runs.retrieve(child.id)
      expect([status, delayedUntil]).toEqual(['DELAYED', new Date(from + 70_000)])
      await machines.clock.advance('1m')
      expect(await machines.engine.runs.poll(run.id)).toMatchObject({ output: 'last 1' })
      expect(executed).toEqual(['last'])
    })
  })

  it('finds it although it has begun or ended, and another run has its key', async () => {
    const { index, executed } = countingTask()
    const seen: string[] = []
    const parent = bodyTask(async () => {
      const { id } = await index.triggerAndWait('inside', FIVE)
      seen.push(id)
      await wait.for({ minutes: 5 })
      return id
    })
    await onMachines([parent, index], async (machines) => {
      const run = await machines.engine.trigger(parent, null)
      await machines.clock.advance('6s')
      const another = await machines.engine.trigger(index, 'outside', { debounce: { key: 'k', delay: '1h' } })
      await machines.restart()
      await machines.clock.advance('10m')
      const { output } = await machines.engine.runs.poll(run.id)
      expect(seen).toEqual([output, output])
      expect(output).not.toBe(another.id)
      expect(executed).toEqual(['inside'])
      expect((await machines.engine.runs.retrieve(another.id)).status).toBe('DELAYED')
    })
  })

  it('finds it although it ended so long ago that others of its age are gone', async () => {
    const { index, executed } = countingTask()
    const outputs: string[] = []
    const parent = bodyTask(async () => {
      outputs.push(await index.triggerAndWait('inside', FIVE).unwrap())
      await wait.for({ hours: 2 })
      return outputs
    })
    await onMachines([parent, index], async (machines) => {
      const child = await machines.engine.trigger(index, 'outside', FIVE)
      const other = await machines.engine.trigger(index, 'other')
      const run = await machines.engine.trigger(parent, null)
      await machines.clock.advance('1h')
      await expect(machines.engine.runs.retrieve(other.id)).rejects.toMatchObject({
        code: 'ERR_RUN_NOT_FOUND',
      })
      expect((await machines.engine.runs.retrieve(child.id)).status).toBe('COMPLETED')
      await machines.restart()
      await machines.clock.advance('61m')
      expect((await machines.engine.runs.poll(run.id)).output).toEqual(['outside 2', 'outside 2'])
      expect(executed).toEqual(['other', 'outside'])
      await machines.clock.advance('30m')
      await expect(machines.engine.runs.retrieve(child.id)).rejects.toMatchObject({
        code: 'ERR_RUN_NOT_FOUND',
      })
    })
  })

  it('finds a wait that has a name over a change of the code around it', async () => {
    const { index, executed } = countingTask()
    const outputs: string[] = []
    const parent = bodyTask(async ({ ctx }) => {
      if (ctx.attempt.number > 1) await wait.for({ seconds: 1, name: 'new' })
      outputs.push(await index.triggerAndWait('inside', { ...FIVE, name: 'index' }).unwrap())
      await wait.for({ minutes: 5, name: 'rest' })
      return outputs
    })
    await onMachines([parent, index], async (machines) => {
      const run = await machines.engine.trigger(parent, null)
      await machines.clock.advance('6s')
      await machines.restart()
      await machines.clock.advance('10m')
      expect((await machines.engine.runs.poll(run.id)).output).toEqual(['inside 1', 'inside 1'])
      expect(executed).toEqual(['inside'])
    })
  })

  it('counts once, and makes no second run, when the answer to its trigger was lost', async () => {
    let lost = 0
    const { index, executed } = countingTask()
    const losing = (storage: Storage): Storage =>
      wrapStorage(storage, (name, operation) => async (...args) => {
        const answer = await operation(...args)
        const [request] = args as readonly { readonly bind?: object }[]
        if (name !== 'runs.insert' || request?.bind === undefined || lost === 2) return answer
        lost += 1
        throw new StorageUnavailableError('the answer was lost', { mayBeDone: true })
      })
    const parent = task({
      id: 'parent',
      run: async (payload: string) => index.triggerAndWait(payload, LAST).unwrap(),
    })
    const storage = losing(memoryStorage())
    await using t = await createTestEngine({ tasks: [parent, index], storage, clock: { mode: 'manual' } })
    const from = t.clock.now()
    const child = await t.engine.trigger(index, 'outside', LAST)
    const run = await t.engine.trigger(parent, 'inside')
    await t.clock.settle()
    await t.engine.trigger(index, 'last', LAST)
    await t.clock.advance('1m')
    expect([lost, await run.result(), executed]).toEqual([2, 'last 1', ['last']])
    expect((await t.engine.runs.retrieve(child)).startedAt).toEqual(new Date(from + 5_000))
  })
})

describe('explore', () => {
  it('finds each parent with the child that it has found first, whenever a process dies or a trigger comes', async () => {
    const found: [string, string][] = []
    const index = task({ id: 'index', run: (payload: string) => payload })
    const parent = task({
      id: 'parent',
      run: async (name: string) => {
        const { id } = await index.triggerAndWait(name, LAST)
        found.push([name, id])
        await wait.for({ seconds: 1 })
        return id
      },
    })
    const report = await exploreAll(
      async (t) => {
        found.length = 0
        const runs = await Promise.all([
          t.engine.trigger(parent, 'one', { idempotencyKey: 'one' }),
          t.engine.trigger(parent, 'two', { idempotencyKey: 'two' }),
        ])
        const pushed = await t.engine.trigger(index, 'outside', LAST)
        const results = await Promise.all(runs.map((run) => run.result()))
        await t.engine.runs.poll(pushed.id)
        for (const [name, id] of found) expect([name, id]).toEqual([name, results[name === 'one' ? 0 : 1]])
        const { data } = await t.engine.runs.list({ taskIdentifier: 'index' })
        // A trigger from outside is made again after a crash, and may make one run more.
        expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining([...results, pushed.id]))
        t.sometimes('one child', data.length === 1)
        t.sometimes('a parent is executed again', found.length > 2)
      },
      { tasks: [parent, index], crashes: 'every-commit', maxDeviations: 1 },
    )
    expect(report).toMatchObject({ complete: true })
  })
})
