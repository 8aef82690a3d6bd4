import { describe, expect, it } from 'vitest'
import { memoryStorage, task } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'

const send = task({ id: 'send', run: (text: string) => text })
const other = task({ id: 'other', run: (text: string) => text })
const KEYED = { idempotencyKey: 'k', idempotencyKeyTTL: '30d' }

describe('runs.resetIdempotencyKey', () => {
  it('answers the run that had the key, and the next trigger stores a new one', async () => {
    await using t = await createTestEngine({ tasks: [send, other] })
    const first = await t.engine.trigger(send, 'a', KEYED)
    const elsewhere = await t.engine.trigger(other, 'a', KEYED)
    expect(await t.engine.runs.resetIdempotencyKey('send', 'k')).toBe(first.id)
    const second = await t.engine.trigger(send, 'b', KEYED)
    expect(second).toMatchObject({ isCached: false })
    expect(await t.engine.trigger(send, 'c', KEYED)).toMatchObject({ id: second.id, isCached: true })
    expect(await t.engine.trigger(other, 'c', KEYED)).toMatchObject({ id: elsewhere.id, isCached: true })
    expect(await first.result()).toBe('a')
    expect(await t.engine.runs.retrieve(first)).toMatchObject({ idempotencyKey: 'k', output: 'a' })
    await Promise.all([second.result(), elsewhere.result()])
  })

  it('answers nothing for a key that no run has, has no longer, or had until it was reset', async () => {
    await using t = await createTestEngine({ tasks: [send], execute: false })
    expect(await t.engine.runs.resetIdempotencyKey('send', 'k')).toBeUndefined()
    await t.engine.trigger(send, 'a', KEYED)
    await t.engine.runs.resetIdempotencyKey('send', 'k')
    expect(await t.engine.runs.resetIdempotencyKey('send', 'k')).toBeUndefined()
    await t.engine.trigger(send, 'a', { idempotencyKey: 'short', idempotencyKeyTTL: '1m' })
    await t.clock.advance('1m')
    expect(await t.engine.runs.resetIdempotencyKey('send', 'short')).toBeUndefined()
  })

  it('is free on the other engines of the storage at once', async () => {
    const storage = projectStorage()
    await using clock = testClock()
    await using a = await createTestEngine({ tasks: [send], storage, clock, execute: false })
    await using b = await createTestEngine({ tasks: [send], storage, clock, execute: false })
    const { id } = await a.engine.trigger(send, 'a', KEYED)
    expect(await b.engine.runs.resetIdempotencyKey('send', 'k')).toBe(id)
    expect(await a.engine.trigger(send, 'b', KEYED)).toMatchObject({ isCached: false })
  })

  it('has at most one run more than there were resets, however triggers and resets come together', async () => {
    await using t = await createTestEngine({ tasks: [send], execute: false })
    const first = await t.engine.trigger(send, 'a', KEYED)
    const trigger = async (): Promise<string> => (await t.engine.trigger(send, 'b', KEYED)).id
    const reset = (): Promise<string | undefined> => t.engine.runs.resetIdempotencyKey('send', 'k')
    const [one, freed, two, again, three] = await Promise.all([
      trigger(),
      reset(),
      trigger(),
      reset(),
      trigger(),
    ])
    const stored = new Set([first.id, one, two, three])
    const resets = new Set([freed, again].filter((id) => id !== undefined))
    expect(freed === first.id || again === first.id).toBe(true)
    expect(stored.size).toBeLessThanOrEqual(1 + resets.size)
    for (const id of resets) expect(stored).toContain(id)
  })

  it('is refused for an unknown task, a key that is none, and on a storage that frees none', async () => {
    await using t = await createTestEngine({ tasks: [send] })
    const { runs: own } = t.engine
    await expect(own.resetIdempotencyKey('sendd', 'k')).rejects.toMatchObject({ code: 'ERR_TASK_NOT_FOUND' })
    await expect(own.resetIdempotencyKey('send', '')).rejects.toThrow('Cannot use idempotencyKey ""')
    const whole = memoryStorage()
    const runs = Object.fromEntries(Object.entries(whole.runs).filter(([name]) => name !== 'freeKey'))
    const storage = { ...whole, runs: runs as typeof whole.runs }
    await using without = await createTestEngine({ tasks: [send], storage })
    await expect(without.engine.runs.resetIdempotencyKey('send', 'k')).rejects.toMatchObject({
      code: 'ERR_CANNOT_RESET_KEY',
      message: /"k".*RunStore\.freeKey/ as unknown,
    })
  })
})
