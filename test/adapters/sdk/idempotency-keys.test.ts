import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type AnyTask, idempotencyKeys, task } from 'waitpoint/sdk'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'

const child = task({ id: 'child', run: async () => null })

/** The tasks, on the default engine. */
async function engineOf(...tasks: readonly AnyTask[]): Promise<TestEngine> {
  const t = await createTestEngine({ tasks: [child, ...tasks] })
  t.engine.makeDefault()
  return t
}

/** The key as the service derives it: its parts and its place, joined and hashed. */
function derived(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('-')).digest('hex')
}

const NOT_FOUND = { code: 'ERR_RUN_NOT_FOUND' }

describe('idempotencyKeys.create', () => {
  it('derives keys as the hosted service does', async () => {
    expect(await idempotencyKeys.create(['a', 'b'])).toBe(derived('a', 'b'))
    expect(await idempotencyKeys.create('a', { scope: 'attempt' })).toBe(derived('a'))
  })
})

describe('idempotencyKeys.reset', () => {
  it('frees a key of its run from outside, by its scope, run and attempt', async () => {
    const parent = task({
      id: 'parent',
      run: async (_: string, { ctx }) => {
        const keys = [await idempotencyKeys.create('b', { scope: 'attempt' }), 'a']
        for (const idempotencyKey of keys) await child.trigger(undefined, { idempotencyKey })
        return ctx.run.id
      },
    })
    await using t = await engineOf(parent)
    const { id } = await parent.trigger('')
    await t.engine.runs.poll(id)
    await expect(idempotencyKeys.reset('child', 'a', { parentRunId: 'run_other' })).rejects.toMatchObject(
      NOT_FOUND,
    )
    expect(await idempotencyKeys.reset('child', 'a', { parentRunId: id })).toEqual({ id: derived('a', id) })
    await expect(idempotencyKeys.reset('child', 'a', { parentRunId: id })).rejects.toMatchObject(NOT_FOUND)
    const attempt = { scope: 'attempt', parentRunId: id } as const
    await expect(idempotencyKeys.reset('child', 'b', { ...attempt, attemptNumber: 2 })).rejects.toMatchObject(
      NOT_FOUND,
    )
    expect(await idempotencyKeys.reset('child', ['b'], { ...attempt, attemptNumber: 1 })).toEqual({
      id: derived('b', id, '1'),
    })
  })

  it('takes the run and the attempt that call, if none is named', async () => {
    const parent = task({
      id: 'parent',
      run: async () => {
        const made = await idempotencyKeys.create('made', { scope: 'attempt' })
        const isFree: boolean[] = []
        for (const [key, scope] of [
          ['a', undefined],
          ['made', 'attempt'],
        ] as const) {
          const idempotencyKey = scope === undefined ? key : made
          const first = await child.trigger(undefined, { idempotencyKey })
          await idempotencyKeys.reset('child', key, scope === undefined ? {} : { scope })
          const second = await child.trigger(undefined, { idempotencyKey })
          isFree.push(first.id !== second.id)
        }
        return isFree
      },
    })
    await using t = await engineOf(parent)
    const { id } = await parent.trigger()
    expect((await t.engine.runs.poll(id)).output).toEqual([true, true])
  })

  it('frees a key that was made, and one as long as these that was not', async () => {
    await using _t = await engineOf()
    const made = await idempotencyKeys.create('a', { scope: 'global' })
    const { id } = await child.trigger(undefined, { idempotencyKey: made })
    expect(await idempotencyKeys.reset('child', made)).toEqual({ id: made })
    expect((await child.trigger(undefined, { idempotencyKey: made })).id).not.toBe(id)
    const long = 'x'.repeat(64)
    const idempotencyKey = await idempotencyKeys.create(long, { scope: 'global' })
    await child.trigger(undefined, { idempotencyKey })
    await expect(idempotencyKeys.reset('child', long)).rejects.toMatchObject(NOT_FOUND)
    expect(await idempotencyKeys.reset('child', long, { scope: 'global' })).toEqual({ id: idempotencyKey })
  })

  it('is refused for a key of a run outside of it, an unknown task, scope or option', async () => {
    await using _t = await engineOf()
    const reset: typeof idempotencyKeys.reset = (...args) => idempotencyKeys.reset(...args)
    await expect(reset('child', 'a')).rejects.toThrow('give parentRunId, or the scope "global"')
    await expect(reset('child', 'a', { scope: 'attempt', parentRunId: 'run_1' })).rejects.toThrow(
      'attemptNumber',
    )
    await expect(reset('none', 'a', { scope: 'global' })).rejects.toMatchObject({
      code: 'ERR_TASK_NOT_FOUND',
    })
    await expect(reset('child', 'a', { scope: 'all' as never })).rejects.toThrow('Cannot use the scope "all"')
    await expect(reset('child', 'a', { scop: 'run' } as never)).rejects.toThrow('"scop"')
  })
})
