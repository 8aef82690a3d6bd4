import { describe, expect, it } from 'vitest'
import { idempotencyKeys, once, type RunTools, streams, task } from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { bodyTask, rejection } from '../support/body-task.ts'
import { collect, sourceOf } from '../support/streams.ts'

/** What a caller without types may pass. */
const wrong = (value: unknown): never => value as never

describe('options of the wrong type', () => {
  it.each([
    ['options that are a string', '30d'],
    ['a timeout of null', { timeout: null }],
    ['tags of null', { tags: null }],
  ])('are refused by wait.createToken: %s', async (_name, options) => {
    await using t = await createTestEngine()
    await expect(t.engine.wait.createToken(wrong(options))).rejects.toThrow(TypeError)
    expect((await t.engine.wait.listTokens()).data).toEqual([])
  })

  it.each([
    ['a schema of another make', { schema: {} }],
    ['a schema that cannot validate', { schema: { '~standard': { validate: 1 } } }],
    ['a hook that is no function', { onStart: 5 }],
    ['a title that is no function', { title: 'Invoice' }],
    ['a description that is no text', { description: 5 }],
    ['another one', { catchError: 'retry' }],
    ['a queue without a name', { queue: { name: '' } }],
    ['a misspelt option', { retries: { maxAttempts: 3 } }],
    ['a misspelt hook', { onSucess: () => undefined }],
  ])('are refused by task(): %s', (_name, options) => {
    const refused = { id: 'x', run: async (): Promise<number> => 1, ...options }
    expect(() => task(wrong(refused))).toThrow(TypeError)
  })

  it('are refused by trigger and batchTrigger, with nothing stored', async () => {
    const one = bodyTask(() => 1)
    await using t = await createTestEngine({ tasks: [one] })
    await expect(t.engine.trigger(one, null, wrong('1h'))).rejects.toThrow('must be an object')
    const misspelt = { idempotencykey: 'a' }
    await expect(t.engine.trigger(one, null, wrong(misspelt))).rejects.toThrow('no option "idempotencykey"')
    const items = [{ payload: null }, { payload: null, options: misspelt }]
    await expect(t.engine.tasks.batchTrigger(one.id, wrong(items))).rejects.toThrow('idempotencykey')
    await expect(t.engine.tasks.batchTrigger(one.id, wrong('ab'))).rejects.toThrow('must be a list')
    expect((await t.engine.runs.list()).data).toEqual([])
  })

  it('are refused by on, streams.define and metadata.set', async () => {
    const bad = bodyTask(({ metadata }) => void metadata.set(wrong(undefined), 1))
    await using t = await createTestEngine({ tasks: [bad] })
    expect(() => t.engine.on<'run'>(wrong('rnu'), () => undefined)).toThrow(
      'events are run, token, error, log',
    )
    expect(() => t.engine.streams.define({ id: 'run' })).toThrow(RangeError)
    const outcome = await (await t.engine.trigger(bad, null)).outcome()
    expect(outcome).toMatchObject({ ok: false, error: { code: 'ERR_RUN_FAILED' } })
  })

  it.each([
    ['retry that is a number', { retry: 5 }],
    ['a misspelt option of retry', { retry: { maxAttempt: 5 } }],
    ['a queue that is its name', { queue: 'mail' }],
    ['a misspelt option of queue', { queue: { limit: 1 } }],
  ])('are refused by task(), nested ones too: %s', (_name, options) => {
    expect(() => task(wrong({ id: 'x', run: () => 1, ...options }))).toThrow(/^Cannot use (retry|queue)/)
    expect(() => task(wrong(null))).toThrow('Cannot use the options of task null')
  })

  it.each([
    ['null', null],
    ['a string', 'WAITING'],
    ['a misspelt filter', { statuses: 'WAITING' }],
    ['a status there is not', { status: 'NOPE' }],
    ['one such among others', { status: ['COMPLETED', 'NOPE'] }],
    ['a status that is a number', { status: 5 }],
    ['a status of null', { status: null }],
    ['a cursor that is a number', { after: 5 }],
    ['a cursor that is empty', { before: '' }],
    ['a limit that is a string', { limit: '5' }],
    ['a date that is a string', { from: '2000-01-01' }],
  ])('are refused by the lists, awaited or iterated: %s', async (_name, filters) => {
    await using t = await createTestEngine()
    const { runs, wait } = t.engine
    for (const list of [() => runs.list(wrong(filters)), () => wait.listTokens(wrong(filters))]) {
      await expect(list()).rejects.toThrow(/^Cannot (use|list|read) /)
      await expect(collect<unknown>(list())).rejects.toThrow(/^Cannot (use|list|read) /)
    }
  })

  it.each([
    ['runs by a tag that is a number', (t: TestEngine) => t.engine.runs.list({ tag: wrong(5) })],
    ['runs by no task', (t: TestEngine) => t.engine.runs.list({ taskIdentifier: wrong([null]) })],
    ['tokens by tags of null', (t: TestEngine) => t.engine.wait.listTokens({ tags: wrong(null) })],
    ['tokens by no key', (t: TestEngine) => t.engine.wait.listTokens({ idempotencyKey: wrong(5) })],
  ])('are refused by the lists: %s', async (_name, list) => {
    await using t = await createTestEngine()
    await expect(list(t) as Promise<unknown>).rejects.toThrow(
      /it must be a non-empty string$|they? must be a list$|it must be a list$/,
    )
  })

  it('lists by every status there is', async () => {
    await using t = await createTestEngine()
    const statuses = [
      'DELAYED',
      'QUEUED',
      'EXECUTING',
      'WAITING',
      'COMPLETED',
      'FAILED',
      'CANCELED',
      'TIMED_OUT',
      'EXPIRED',
      'CRASHED',
    ] as const
    expect((await t.engine.runs.list({ status: statuses })).data).toEqual([])
  })

  it.each<[string, (tools: RunTools) => unknown]>([
    ['wait.for(null)', ({ wait }) => wait.for(wrong(null))],
    ['wait.for with a misspelt part', ({ wait }) => wait.for(wrong({ seconds: 1, minute: 1 }))],
    ['wait.for with a date', ({ wait }) => wait.for(wrong({ date: new Date(0) }))],
    ['wait.for with no signal', ({ wait }) => wait.for({ seconds: 1, signal: wrong(null) })],
    ['wait.until(undefined)', ({ wait }) => wait.until(wrong(undefined))],
    [
      'wait.until with a word',
      ({ wait }) => wait.until({ date: new Date(0), throwIfInThePast: wrong('yes') }),
    ],
    ['wait.forToken with null', ({ wait }) => wait.forToken('waitpoint_1', wrong(null))],
    ['wait.forToken with a timeout', ({ wait }) => wait.forToken('waitpoint_1', wrong({ timeout: '1h' }))],
    ['wait.createToken with a misspelt timeout', ({ wait }) => wait.createToken(wrong({ timeuot: '1h' }))],
    ['triggerAndWait of null', ({ tasks }) => tasks.triggerAndWait(wrong(null), wrong(null))],
    ['batchTriggerAndWait of null', ({ tasks }) => tasks.batchTriggerAndWait('body', wrong([null]))],
    ['batchTrigger of bare payloads', ({ tasks }) => tasks.batchTrigger('body', wrong([{ doc: 'd1' }]))],
    ['once without an effect', () => once('key', wrong(null))],
    ['metadata.get(5)', async ({ metadata }) => metadata.get(wrong(5))],
    ['metadata.decrement by a string', async ({ metadata }) => metadata.decrement('n', wrong('1'))],
    ['streams.pipe with null', async ({ streams }) => streams.pipe('k', sourceOf(1), wrong(null))],
    ['idempotencyKeys.create with null', () => idempotencyKeys.create('k', wrong(null))],
    ['idempotencyKeys.create misspelt', () => idempotencyKeys.create('k', wrong({ scop: 'run' }))],
  ])('reject in a run, with what is wrong, and store nothing: %s', async (_name, call) => {
    const messages: string[] = []
    const body = bodyTask(async (tools) => {
      const answer = call(tools)
      expect(answer).toBeInstanceOf(Promise)
      messages.push(((await rejection(answer as Promise<unknown>)) as Error).message)
    })
    await using t = await createTestEngine({ tasks: [body] })
    await (await t.engine.trigger(body, null)).result()
    expect(messages).toEqual([expect.stringMatching(/^Cannot (use|change|run) /)])
    expect((await t.engine.wait.listTokens()).data).toEqual([])
    expect((await t.engine.runs.list()).data).toHaveLength(1)
  })

  it('are refused by streams.read, streams.define, on and close', async () => {
    await using t = await createTestEngine()
    const { engine } = t
    for (const key of ['', 5, 'run']) {
      expect(() => engine.streams.read('run_1', wrong(key))).toThrow(/^Cannot use stream /)
      expect(() => streams.define({ id: wrong(key) })).toThrow(/^Cannot use stream /)
    }
    expect(() => streams.define(wrong('draft'))).toThrow('Cannot use the options of streams.define "draft"')
    expect(() => engine.streams.read('run_1', 'k', wrong({ start: 1 }))).toThrow('no option "start"')
    expect(() => engine.streams.read('run_1', 'k', { signal: wrong(null) })).toThrow('an AbortSignal')
    expect(() => engine.on('run', wrong(undefined))).toThrow('the listener must be a function')
    await expect(engine.close(wrong(null))).rejects.toThrow('Cannot use the options of close null')
    await expect(engine.close(wrong({ drain: '1m' }))).rejects.toThrow('use drainMs')
    expect((await engine.wait.listTokens()).data).toEqual([])
  })

  it('are refused by trigger: what is no task', async () => {
    await using t = await createTestEngine()
    for (const none of [null, undefined, 5, {}])
      await expect(t.engine.trigger(wrong(none), wrong(1))).rejects.toThrow(/^Cannot use task id /)
  })
})
