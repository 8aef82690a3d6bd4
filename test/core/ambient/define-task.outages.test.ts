import { describe, expect, it } from 'vitest'
import { createEngine, task, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { z } from 'zod'
import { rejection } from '../../support/body-task.ts'

const run = async (): Promise<void> => undefined

describe('task', () => {
  it('has an id and is triggered by itself, where there is an engine', async () => {
    const greet = task({ id: 'greet', run: async ({ name }: { name: string }) => `Hello ${name}` })
    expect(greet.id).toBe('greet')
    await using t = await createTestEngine({ tasks: [greet] })
    const dispose = t.engine.makeDefault()
    expect(await (await greet.trigger({ name: 'Ada' }, { tags: 'a' })).result()).toBe('Hello Ada')
    const batch = await greet.batchTrigger([{ payload: { name: 'Bob' } }, { payload: { name: 'Cy' } }])
    expect(await Promise.all(batch.runs.map((handle) => handle.result()))).toEqual(['Hello Bob', 'Hello Cy'])
    dispose()
  })

  it('can be waited for by another task', async () => {
    const child = task({ id: 'child', run: async (count: number) => count + 1 })
    const parent = task({
      id: 'parent',
      run: async (count: number) => {
        const result = await child.triggerAndWait(count)
        const { runs } = await child.batchTriggerAndWait([{ payload: 10 }, { payload: 20 }])
        const both = runs.map((one) => (one.ok ? one.output : -1))
        return [result.ok ? result.output : -1, await child.triggerAndWait(5).unwrap(), ...both]
      },
    })
    await using t = await createTestEngine({ tasks: [parent, child] })
    expect(await (await t.engine.trigger(parent, 1)).result()).toEqual([2, 6, 11, 21])
  })

  it('belongs to no engine: the same one works in several', async () => {
    const both = task({ id: 'both', run: async () => (await wait.createToken()).id })
    await using one = await createTestEngine({ tasks: [both], seed: 1 })
    await using other = await createTestEngine({ tasks: [both], seed: 2 })
    const ids = await Promise.all(
      [one, other].map(async ({ engine }) => (await engine.trigger(both, null)).result()),
    )
    expect(ids[0]).not.toBe(ids[1])
  })

  it.each([
    ['no id', { run }, TypeError, /Cannot use task id .*: it must be a non-empty string/],
    ['an empty id', { id: '', run }, TypeError, /Cannot use task id .*: it must be a non-empty string/],
    ['no function', { id: 't' }, TypeError, /Cannot define task "t": run must be a function/],
    [
      'no attempts',
      { id: 't', run, retry: { maxAttempts: 0 } },
      RangeError,
      /retry\.maxAttempts 0: it must be a whole number from 1/,
    ],
    ['half attempts', { id: 't', run, retry: { maxAttempts: 1.5 } }, RangeError, /must be a whole number/],
    ['a factor below one', { id: 't', run, retry: { factor: 0.5 } }, RangeError, /retry\.factor 0\.5/],
    [
      'no number',
      { id: 't', run, retry: { minTimeoutInMs: Number.NaN } },
      RangeError,
      /retry\.minTimeoutInMs NaN/,
    ],
    ['no room', { id: 't', run, queue: { concurrencyLimit: 0 } }, RangeError, /queue\.concurrencyLimit 0/],
    ['an unreadable ttl', { id: 't', run, ttl: 'soon' }, RangeError, /Cannot read ttl "soon"/],
    [
      'a bare numeric maxDuration',
      { id: 't', run, maxDuration: '10' },
      RangeError,
      /Cannot read maxDuration "10"/,
    ],
  ])('is refused with %s', (_what, options, type, message) => {
    const define = (): unknown => task(options as never)
    expect(define).toThrow(type)
    expect(define).toThrow(message)
  })

  it('cannot share its id with another one in an engine, nor be anything else', () => {
    const [one, other] = [task({ id: 'twin', run }), task({ id: 'twin', run })]
    expect(() => createEngine({ tasks: [one, other] })).toThrow(
      expect.objectContaining({ code: 'ERR_TASK_DUPLICATE' }) as Error,
    )
    expect(() => createEngine({ tasks: [{ id: 'fake' }] })).toThrow(
      /Cannot use { id: "fake" }: it was not made by task\(\) of this copy of waitpoint/,
    )
  })

  it('has to be known to the engine', async () => {
    const [known, unknown] = [task({ id: 'known', run }), task({ id: 'unknown', run })]
    await using t = await createTestEngine({ tasks: [known] })
    expect(await rejection(t.engine.trigger(unknown, null))).toMatchObject({
      code: 'ERR_TASK_NOT_FOUND',
      message: 'Cannot trigger task "unknown": the engine does not know it; it has known',
    })
  })
})

describe('a task with a schema', () => {
  const order = task({
    id: 'order',
    schema: z.object({ count: z.coerce.number().int(), name: z.string().default('Ada') }),
    run: async (payload) => payload,
  })

  it('gets what the schema makes of the payload', async () => {
    await using t = await createTestEngine({ tasks: [order] })
    expect(await (await t.engine.trigger(order, { count: '3' })).result()).toEqual({ count: 3, name: 'Ada' })
  })

  it('is not triggered with a payload the schema rejects; nothing is stored', async () => {
    await using t = await createTestEngine({ tasks: [order] })
    const error = await rejection(t.engine.trigger(order, { count: 'many' }))
    expect(error).toMatchObject({ code: 'ERR_PAYLOAD_INVALID' })
    expect((error as Error).message).toMatch(/^Cannot trigger task "order": payload: count: /)
    expect((await t.engine.runs.list()).data).toEqual([])
  })
})
