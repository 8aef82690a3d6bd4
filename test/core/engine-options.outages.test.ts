import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, type EngineOptions, memoryStorage, type Storage, task } from 'waitpoint'
import { testClock } from 'waitpoint/testing'
import { projectStorage, steadyStorage } from '../support/abandon.ts'
import { rejection } from '../support/body-task.ts'
import { steeredStorage } from '../support/steered-storage.ts'

const plain = task({ id: 'plain', run: () => undefined })

describe('createEngine', () => {
  it.each<[string, unknown]>([
    ['an execute that is no boolean', { execute: 'no' }],
    ['a concurrency of 0', { concurrency: 0 }],
    ['half a concurrency', { concurrency: 1.5 }],
    ['a concurrency that is no number', { concurrency: Number.NaN }],
    ['negative maxInterruptions', { maxInterruptions: -1 }],
    ['a trial that could try nothing', { isolationMs: 99 }],
    ['a lease that could not be renewed in time', { leaseMs: 99 }],
    ['a history of nothing', { streams: { historyChunks: 0 } }],
    ['a history of no bytes', { streams: { historyBytes: 0.5 } }],
    ['a baseUrl that is no address', { baseUrl: 'example.org' }],
    ['a baseUrl of another kind', { baseUrl: 'ftp://example.org' }],
    ['an empty secretKey', { secretKey: '' }],
    ['no secretKey', { secretKey: [] }],
    ['a secretKey that is none', { secretKey: ['a', 7] }],
    ['a secretKey of null', { secretKey: null }],
    ['options that are null', null],
    ['options that are no object', 'memory'],
    ['tasks that are no list', { tasks: null }],
    ['a clock that is none', { clock: {} }],
    ['a storage that is none', { storage: {} }],
    ['streams of null', { streams: null }],
    ['streams that are a number', { streams: 5 }],
    ['a misspelt option of streams', { streams: { history: 5 } }],
    ['retention of null', { retention: null }],
    ['a misspelt option of retention', { retention: { maxage: '1d' } }],
    ['a negative retention', { retention: { maxCount: -1 } }],
    ['a misspelt option', { concurency: 5 }],
    ['a retry of no attempts', { retry: { maxAttempts: 0 } }],
    ['a misspelt option of retry', { retry: { attempts: 3 } }],
    ['a task of null', { tasks: [null] }],
    ['a task that is none', { tasks: [{ id: 'plain' }] }],
  ])('refuses %s', (_what, options) => {
    expect(() => createEngine(options as EngineOptions)).toThrow(/^Cannot /)
  })

  it.each([
    'http://example.org/a path',
    ' http://example.org',
    'http://example.org?tenant=1',
    'http://example.org/#here',
    'http://ada@example.org',
    'http://example.org:99999',
    'http://',
  ])('refuses the baseUrl "%s", and says what is right', (baseUrl) => {
    expect(() => createEngine({ baseUrl })).toThrow(
      /it must be an http or https address without spaces, credentials, query or fragment$/,
    )
  })

  it('does not repeat what may be a password', () => {
    expect(() => createEngine({ baseUrl: 'http://ada:secret@example.org' })).toThrow('"http://…@example.org"')
  })

  it.each(['http://localhost:3000', 'https://example.org/engine/', 'http://[::1]:3'])(
    'begins the URLs of tokens with the baseUrl "%s"',
    async (baseUrl) => {
      await using engine = createEngine({ baseUrl })
      const { url } = await engine.wait.createToken()
      expect(url.startsWith(`${baseUrl.replace(/\/$/, '')}/api/v1/`)).toBe(true)
    },
  )

  it('refuses two tasks with one id, and one queue with two limits', () => {
    const twin = (version?: string): ReturnType<typeof task> =>
      task({ id: 'plain', run: () => 'copied and changed', ...(version && { version }) })
    const wrong = [[plain, twin()] as const, [twin('1'), twin('1')] as const]
    for (const tasks of wrong)
      expect(() => createEngine({ tasks })).toThrow(
        expect.objectContaining({ code: 'ERR_TASK_DUPLICATE' }) as Error,
      )
    expect(() => createEngine({ tasks: [plain, twin('1')] })).not.toThrow()
    const limited = (id: string, concurrencyLimit: number): ReturnType<typeof task> =>
      task({ id, run: () => undefined, queue: { name: 'shared', concurrencyLimit } })
    expect(() => createEngine({ tasks: [limited('a', 1), limited('b', 2)] })).toThrow(/two limits/)
    expect(() => createEngine({ tasks: [limited('a', 1), limited('b', 1)] })).not.toThrow()
  })

  it('retries tasks that have no retry of their own', async () => {
    const fails = (): never => {
      throw new Error('busy')
    }
    const silent = task({ id: 'silent', run: fails })
    const once = task({ id: 'once', run: fails, retry: { maxAttempts: 1 } })
    const attempts = async (options: EngineOptions): Promise<readonly number[]> => {
      await using engine = createEngine({
        ...options,
        tasks: [silent, once],
        storage: steadyStorage(),
        clock: testClock(),
      })
      const runs = await Promise.all([silent, once].map((one) => engine.trigger(one, undefined)))
      const ended = runs.map(async (run) => {
        await run.outcome()
        return (await engine.runs.retrieve(run.id)).attemptCount
      })
      return await Promise.all(ended)
    }
    expect(await attempts({ retry: { maxAttempts: 4 } })).toEqual([4, 1])
    expect(await attempts({})).toEqual([1, 1])
  })

  it('does nothing until the first call', async () => {
    const steered = steeredStorage(projectStorage())
    const clock = testClock({ mode: 'manual' })
    const engine = createEngine({ tasks: [plain], storage: steered.storage, clock })
    await clock.settle()
    expect(steered.calls).toEqual([])
    expect(clock.pending()).toEqual([])
    await engine.ready()
    expect(steered.calls.slice(0, 3)).toEqual(['open', 'settings.getOrInsert', 'tick'])
    await engine.close()
  })

  it('opens once, however many calls come first', async () => {
    const steered = steeredStorage(projectStorage())
    const engine = createEngine({ tasks: [plain], storage: steered.storage, clock: testClock() })
    await Promise.all([engine.ready(), engine.trigger(plain, undefined), engine.runs.list(), engine.ready()])
    expect(steered.calls.filter((name) => name === 'open')).toHaveLength(1)
    await engine.close()
  })

  const firstCalls = (engine: Engine): readonly Promise<unknown>[] => [
    engine.ready(),
    engine.trigger(plain, undefined),
    engine.runs.list(),
    engine.wait.createToken(),
  ]

  it.each(['open', 'settings.getOrInsert', 'tick', 'runs.list'] as const)(
    'tries once for all calls that come first to open, and again with the next one, when storage fails at %s',
    async (name) => {
      const steered = steeredStorage(steadyStorage())
      const failure = steered.fail(name)
      const clock = testClock()
      await using engine = createEngine({ tasks: [plain], storage: steered.storage, clock })
      for (const call of firstCalls(engine)) expect(await rejection(call)).toBe(failure)
      if (name !== 'runs.list') expect(clock.pending()).toEqual([])
      const run = await engine.trigger(plain, undefined)
      await run.result()
      expect((await engine.runs.retrieve(run.id)).id).toBe(run.id)
      expect(steered.calls.filter((call) => call === 'open')).toHaveLength(name === 'open' ? 2 : 1)
    },
  )

  it('rejects every call with what a synchronous storage throws, until it can be opened', async () => {
    let isThere = false
    const memory = memoryStorage()
    const open: Storage['open'] = () => {
      if (!isThere) throw new Error('no disk')
      return memory.open()
    }
    await using engine = createEngine({ tasks: [plain], storage: { ...memory, open }, clock: testClock() })
    await expect(engine.ready()).rejects.toThrow('no disk')
    await expect(engine.trigger(plain, undefined)).rejects.toThrow('no disk')
    isThere = true
    await engine.ready()
  })

  it('can be closed although its storage could not be opened', async () => {
    const steered = steeredStorage(projectStorage())
    steered.fail('open')
    const engine = createEngine({ tasks: [plain], storage: steered.storage, clock: testClock() })
    await rejection(engine.ready())
    await engine.close()
    expect(steered.calls).toEqual(['open'])
  })
})
