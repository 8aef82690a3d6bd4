import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import {
  createEngine,
  metadata,
  once,
  runs,
  streams,
  task,
  tasks,
  wait,
  type WaitpointError,
} from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { steadyStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { collect } from '../../support/streams.ts'
import { turn } from '../../support/turn.ts'

const hello = task({ id: 'hello', run: async (name: string) => `Hello ${name}` })

/** These answer a value, or what is iterated. */
const SYNCHRONOUS = ['metadata.set', 'metadata.get', 'runs.subscribeToRun']

/** What a call throws or rejects with. */
function failure(call: () => unknown): Promise<unknown> {
  return rejection((async () => call())())
}

describe('the functions of the module', () => {
  const calls: readonly [string, () => unknown][] = [
    ['wait.createToken', () => wait.createToken()],
    ['wait.forToken', () => wait.forToken('waitpoint_1')],
    ['wait.completeToken', () => wait.completeToken('waitpoint_1')],
    ['wait.retrieveToken', () => wait.retrieveToken('waitpoint_1')],
    ['wait.listTokens', () => wait.listTokens()],
    ['wait.for', () => wait.for({ seconds: 1 })],
    ['wait.until', () => wait.until({ date: new Date(0) })],
    ['metadata.set', () => metadata.set('key', 1)],
    ['metadata.get', () => metadata.get('key')],
    ['metadata.flush', () => metadata.flush()],
    ['metadata.stream', () => metadata.stream('key', new ReadableStream())],
    ['runs.retrieve', () => runs.retrieve('run_1')],
    ['runs.list', () => runs.list()],
    ['runs.poll', () => runs.poll('run_1')],
    ['runs.cancel', () => runs.cancel('run_1')],
    ['runs.replay', () => runs.replay('run_1')],
    ['runs.reschedule', () => runs.reschedule('run_1', { delay: '1h' })],
    ['runs.subscribeToRun', () => runs.subscribeToRun('run_1')],
    ['tasks.trigger', () => tasks.trigger<typeof hello>('hello', 'Ada')],
    ['streams.append', () => streams.append('key', 1)],
    ['once', () => once('key', () => 1)],
    ['task.trigger', () => hello.trigger('Ada')],
    ['task.triggerAndWait', () => hello.triggerAndWait('Ada')],
    ['tasks.triggerAndWait', () => tasks.triggerAndWait<typeof hello>('hello', 'Ada')],
    ['tasks.batchTriggerAndWait', () => tasks.batchTriggerAndWait<typeof hello>('hello', [])],
    ['task.batchTriggerAndWait', () => hello.batchTriggerAndWait([])],
    ['task.batchTrigger', () => hello.batchTrigger([])],
  ]

  it.each(calls)('say both ways out where there is no engine: %s', async (_name, call) => {
    const error = (await failure(call)) as WaitpointError
    expect(error).toMatchObject({ name: 'WaitpointError', code: 'ERR_NO_ENGINE' })
    expect(error.message).toMatch(/^Cannot find an engine here: .*engine\.wait.*engine\.makeDefault\(\)/)
  })

  it.each(calls.filter(([name]) => !SYNCHRONOUS.includes(name)))(
    'reject rather than throw, as everything that answers a promise: %s',
    async (_name, call) => {
      await expect(call() as Promise<unknown>).rejects.toMatchObject({ code: 'ERR_NO_ENGINE' })
    },
  )

  it('can be unwrapped and iterated there as well, to the same error', async () => {
    const NO_ENGINE = { code: 'ERR_NO_ENGINE' }
    expect(await failure(() => wait.forToken('waitpoint_1').unwrap())).toMatchObject(NO_ENGINE)
    expect(await failure(() => hello.triggerAndWait('Ada').unwrap())).toMatchObject(NO_ENGINE)
    expect(await failure(() => collect(wait.listTokens()))).toMatchObject(NO_ENGINE)
    expect(await failure(() => collect(runs.list()))).toMatchObject(NO_ENGINE)
  })

  it('find the engine that was made the default, until it is disposed of', async () => {
    await using t = await createTestEngine({ tasks: [hello] })
    const dispose = t.engine.makeDefault()
    const { id } = await wait.createToken()
    expect(await wait.completeToken(id, 1)).toMatchObject({ success: true })
    expect(await t.engine.wait.retrieveToken(id)).toMatchObject({ output: 1 })
    expect(await (await hello.trigger('Ada')).result()).toBe('Hello Ada')
    expect(await (await tasks.trigger<typeof hello>('hello', 'Bob')).result()).toBe('Hello Bob')
    dispose()
    expect(await failure(() => wait.retrieveToken(id))).toMatchObject({ code: 'ERR_NO_ENGINE' })
  })

  it("find the run's engine inside a task, whatever the default is", async () => {
    const ids: string[] = []
    const only = bodyTask(async () => {
      ids.push((await wait.createToken({ timeout: '1d' })).id)
      await wait.for({ seconds: 1 })
      await Promise.resolve()
      ids.push((await wait.createToken({ timeout: '1d' })).id)
      return once('effect', () => runs.list().then(({ data }) => data.length))
    })
    await using other = await createTestEngine()
    await using t = await createTestEngine({ tasks: [only], seed: 2 })
    const dispose = other.engine.makeDefault()
    expect(await (await t.engine.trigger(only, null)).result()).toBe(1)
    dispose()
    expect((await t.engine.wait.listTokens()).data.map(({ id }) => id)).toEqual(ids.reverse())
    expect((await other.engine.wait.listTokens()).data).toEqual([])
  })

  it('are told apart in several engines at once, in one process', async () => {
    const only = bodyTask(async ({ ctx }) => {
      const token = await wait.createToken({ tags: ctx.run.id })
      return wait.forToken<string>(token).unwrap()
    })
    const engines = await Promise.all(
      [1, 2, 3].map((seed) =>
        createTestEngine({ tasks: [only], seed, clock: { mode: 'manual' }, storage: steadyStorage() }),
      ),
    )
    const handles = await Promise.all(engines.map(({ engine }) => engine.trigger(only, null)))
    for (const [index, { engine, clock }] of engines.entries()) {
      await clock.settle()
      const { data } = await engine.wait.listTokens()
      expect(data.map(({ tags }) => tags)).toEqual([[handles[index]!.id]])
      await engine.wait.completeToken(data[0]!, `engine ${index}`)
    }
    expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([
      'engine 0',
      'engine 1',
      'engine 2',
    ])
    for (const t of engines) await t.close()
  })

  it('of an engine can be used in a run of another one, outside of that run', async () => {
    await using other = await createTestEngine({ tasks: [hello] })
    const seen: unknown[] = []
    const only = bodyTask(async () => {
      const token = await other.engine.wait.createToken()
      await other.engine.wait.completeToken(token, 1)
      seen.push(
        await other.engine.wait.retrieveToken(token),
        await failure(() => other.engine.metadata.set('key', 1)),
      )
    })
    await using t = await createTestEngine({ tasks: [only] })
    await (await t.engine.trigger(only, null)).result()
    expect(seen).toMatchObject([{ output: 1 }, { code: 'ERR_OTHER_ENGINE' }])
    expect((await t.engine.wait.listTokens()).data).toEqual([])
  })

  it('end with the attempt, while its engine can be called from whatever the run has left behind', async () => {
    const left: (() => Promise<unknown>)[] = []
    const only = bodyTask(async (tools) => {
      const leave = (call: () => unknown): void => void left.push(AsyncLocalStorage.bind(() => failure(call)))
      leave(() => wait.createToken())
      leave(() => tools.wait.createToken())
      leave(() => runs.subscribeToRun('run_1')[Symbol.asyncIterator]().next())
      leave(() => hello.trigger('Ada'))
      left.push(
        AsyncLocalStorage.bind(async () => {
          const token = await t.engine.wait.createToken()
          const { success } = await t.engine.wait.completeToken(token, 1)
          const run = await t.engine.trigger(hello, 'Ada')
          return [success, await run.result(), (await t.engine.runs.retrieve(run)).status]
        }),
      )
    })
    await using t = await createTestEngine({ tasks: [only, hello], storage: steadyStorage() })
    await (await t.engine.trigger(only, null)).result()
    const [ambient, handed, subscription, triggered, explicit] = await Promise.all(left.map((call) => call()))
    for (const error of [ambient, handed, subscription, triggered])
      expect(error).toMatchObject({ code: 'ERR_RUN_ENDED' })
    expect(explicit).toEqual([true, 'Hello Ada', 'COMPLETED'])
  })

  it('of an engine are refused by a canceled run while its function goes on, and not once it has settled', async () => {
    const goOn = createDeferred<void>()
    let call: () => Promise<unknown> = () => Promise.resolve()
    const only = bodyTask(async () => {
      call = AsyncLocalStorage.bind(() => t.engine.wait.createToken())
      await goOn.promise
    })
    await using t = await createTestEngine({ tasks: [only], storage: steadyStorage() })
    const run = await t.engine.trigger(only, null)
    await turn()
    await t.engine.runs.cancel(run)
    expect(await failure(call)).toMatchObject({ code: 'ERR_RUN_CANCELED' })
    goOn.resolve()
    await turn()
    expect(await call()).toMatchObject({ isCached: false })
  })

  it('are handed to the task as well', async () => {
    const only = bodyTask(async (tools) => {
      const token = await tools.wait.createToken()
      await tools.wait.completeToken(token, 'yes')
      tools.metadata.set('key', await tools.wait.forToken(token).unwrap())
      return [tools.metadata.get('key'), (await tools.runs.list()).data.length]
    })
    await using t = await createTestEngine({ tasks: [only] })
    expect(await (await t.engine.trigger(only, null)).result()).toEqual(['yes', 1])
  })
})

describe('makeDefault', () => {
  it('throws if there is a default already, its own engine included', async () => {
    await using one = await createTestEngine()
    await using other = await createTestEngine()
    const dispose = one.engine.makeDefault()
    for (const engine of [one.engine, other.engine]) {
      expect(() => engine.makeDefault()).toThrow(
        expect.objectContaining({
          message: expect.stringContaining('there is one already') as string,
        }) as Error,
      )
    }
    dispose()
    other.engine.makeDefault()()
  })

  it('can be undone any number of times, without undoing a later one', async () => {
    await using one = await createTestEngine()
    await using other = await createTestEngine()
    const undoFirst = one.engine.makeDefault()
    undoFirst()
    undoFirst()
    const undoOther = other.engine.makeDefault()
    undoFirst()
    expect(await wait.listTokens()).toMatchObject({ data: [] })
    undoOther()
    const undoSecond = one.engine.makeDefault()
    undoFirst()
    expect(await wait.listTokens()).toMatchObject({ data: [] })
    undoSecond()
    expect(await failure(() => wait.listTokens())).toMatchObject({ code: 'ERR_NO_ENGINE' })
  })

  it('ends with its engine', async () => {
    const engine = createEngine()
    engine.makeDefault()
    await engine.close()
    expect(await failure(() => wait.listTokens())).toMatchObject({ code: 'ERR_NO_ENGINE' })
    await using other = await createTestEngine()
    other.engine.makeDefault()()
  })

  it('refuses an engine that is closed', async () => {
    const engine = createEngine()
    await engine.close()
    expect(() => engine.makeDefault()).toThrow(
      expect.objectContaining({ code: 'ERR_ENGINE_CLOSED' }) as Error,
    )
    await using other = await createTestEngine()
    other.engine.makeDefault()()
  })
})
