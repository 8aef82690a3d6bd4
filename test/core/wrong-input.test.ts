import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { bodyTask } from '../support/body-task.ts'

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
    ['another one', { catchError: 'retry' }],
    ['a queue without a name', { queue: { name: '' } }],
  ])('are refused by task(): %s', (_name, options) => {
    const refused = { id: 'x', run: async (): Promise<number> => 1, ...options }
    expect(() => task(wrong(refused))).toThrow(TypeError)
  })

  it('are refused by trigger and batchTrigger, with nothing stored', async () => {
    const one = bodyTask(() => 1)
    await using t = await createTestEngine({ tasks: [one] })
    await expect(t.engine.trigger(one, null, wrong('1h'))).rejects.toThrow('must be an object')
    await expect(t.engine.tasks.batchTrigger(one.id, wrong('ab'))).rejects.toThrow('must be a list')
    expect((await t.engine.runs.list()).data).toEqual([])
  })

  it('are refused by on, streams.define and metadata.set', async () => {
    const bad = bodyTask(({ metadata }) => void metadata.set(wrong(undefined), 1))
    await using t = await createTestEngine({ tasks: [bad] })
    expect(() => t.engine.on<'run'>(wrong('rnu'), () => undefined)).toThrow('events are run, token, error')
    expect(() => t.engine.streams.define({ id: 'run' })).toThrow(RangeError)
    const outcome = await (await t.engine.trigger(bad, null)).outcome()
    expect(outcome).toMatchObject({ ok: false, error: { code: 'ERR_RUN_FAILED' } })
  })
})
