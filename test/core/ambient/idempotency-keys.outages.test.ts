import { describe, expect, it } from 'vitest'
import { idempotencyKeys, type IdempotencyKeyOptions } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { bodyTask, rejection } from '../../support/body-task.ts'

const create: typeof idempotencyKeys.create = (...args) => idempotencyKeys.create(...args)
const attempt = { scope: 'attempt' } as const
const run = { scope: 'run' } as const
const global = { scope: 'global' } as const

/** The keys that `make` derives in two attempts of each of two runs. */
async function inTwoRuns(make: () => Promise<string>): Promise<string[][]> {
  const keys: string[][] = []
  const only = bodyTask(
    async ({ ctx }) => {
      if (ctx.attempt.number === 1) keys.push([])
      keys.at(-1)!.push(await make(), await make())
      if (ctx.attempt.number === 1) throw new Error('again')
    },
    { retry: { maxAttempts: 2 } },
  )
  await using t = await createTestEngine({ tasks: [only] })
  for (let count = 0; count < 2; count += 1) await (await t.engine.trigger(only, null)).result()
  return keys
}

describe('idempotencyKeys.create', () => {
  it('derives a key of a run by default: the same over all its attempts', async () => {
    for (const options of [undefined, run]) {
      const [one, other] = await inTwoRuns(() => create('k', options))
      expect(new Set(one).size).toBe(1)
      expect(new Set(other).size).toBe(1)
      expect(one![0]).not.toBe(other![0])
    }
  })

  it('derives a key of an attempt', async () => {
    const [one, other] = await inTwoRuns(() => create('k', attempt))
    expect(one![0]).toBe(one![1])
    expect(one![2]).toBe(one![3])
    expect(new Set([...one!, ...other!]).size).toBe(4)
  })

  it('derives a key that is the same everywhere', async () => {
    const keys = await inTwoRuns(() => create('k', global))
    expect(new Set(keys.flat())).toEqual(new Set([await create('k', global)]))
  })

  it('knows no run outside of one: every scope is global there', async () => {
    const [one, other, third] = await Promise.all([create('k'), create('k', attempt), create('k', global)])
    expect([other, third]).toEqual([one, one])
  })

  it('takes one part or several, and tells them apart', async () => {
    expect(await create(['k'])).toBe(await create('k'))
    const keys = await Promise.all([create('ab'), create(['a', 'b']), create(['b', 'a']), create(['ab', ''])])
    expect(new Set(keys).size).toBe(4)
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/)
  })

  it('does not take a part of a key for the id of a run', async () => {
    const keys: string[] = []
    const only = bodyTask(async ({ ctx }) => {
      const { id } = ctx.run
      keys.push(await create('k'), await create('k', attempt))
      keys.push(
        await create(['k', id], global),
        await create(['k', id, '1'], global),
        await create(['k', '1']),
      )
    })
    await using t = await createTestEngine({ tasks: [only] })
    await (await t.engine.trigger(only, null)).result()
    expect(new Set(keys).size).toBe(5)
  })

  it.each<[unknown, unknown]>([
    [5, undefined],
    [undefined, undefined],
    [[], undefined],
    ['', undefined],
    [['a', 5], undefined],
    ['k', { scope: 'Run' }],
  ])('refuses what it cannot use: %j %j', async (key, options) => {
    const error = await rejection(create(key as string, options as IdempotencyKeyOptions))
    expect(error).toSatisfy((thrown) => thrown instanceof TypeError || thrown instanceof RangeError)
    expect((error as Error).message).toMatch(/^Cannot create an idempotency key/)
  })
})
