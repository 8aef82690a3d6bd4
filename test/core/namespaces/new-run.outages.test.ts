import { describe, expect, it } from 'vitest'
import { task, type TriggerOptions } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { steadyStorage } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'

const plain = bodyTask(() => undefined)
const START = Date.UTC(2000, 0, 1)

describe('the options of a trigger', () => {
  it('are kept with the run', async () => {
    await using t = await createTestEngine({ tasks: [plain], clock: { mode: 'manual' } })
    const { id } = await t.engine.trigger(plain, null, { tags: 'one', metadata: { a: 1 }, delay: '1h' })
    expect(await t.engine.runs.retrieve(id)).toMatchObject({
      tags: ['one'],
      metadata: { a: 1 },
      delayedUntil: new Date(START + 3_600_000),
    })
  })

  it('are copied: what the caller does with them later changes nothing', async () => {
    await using t = await createTestEngine({ tasks: [plain] })
    const tags = ['a']
    const metadata = { list: [1] }
    const run = await t.engine.trigger(plain, null, { tags, metadata })
    tags.push('b')
    metadata.list.push(2)
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ tags: ['a'], metadata: { list: [1] } })
  })

  it('start the run at once when the instant of its delay is past', async () => {
    await using t = await createTestEngine({
      tasks: [plain],
      storage: steadyStorage(),
      clock: { mode: 'manual' },
    })
    const past = new Date(START - 3_600_000)
    const { id } = await t.engine.trigger(plain, null, { delay: past, ttl: 60 })
    await t.clock.settle()
    const run = await t.engine.runs.retrieve(id)
    expect([run.status, run.startedAt, run.delayedUntil]).toEqual(['COMPLETED', new Date(START), undefined])
  })

  it.each<[string, unknown]>([
    ['an unreadable delay', { delay: 'soon' }],
    ['a numeric string as delay', { delay: '10' }],
    ['a negative delay', { delay: -1 }],
    ['an invalid date', { delay: new Date(Number.NaN) }],
    ['an unreadable ttl', { ttl: 'later' }],
    ['a negative ttl', { ttl: -1 }],
    ['an infinite ttl', { ttl: Number.POSITIVE_INFINITY }],
    ['an unreadable maxDuration', { maxDuration: 'long' }],
    ['a negative maxDuration', { maxDuration: -1 }],
    ['an unreadable key TTL', { idempotencyKey: 'k', idempotencyKeyTTL: '1 fortnight' }],
    ['a key TTL without a key', { idempotencyKeyTTL: 'forever' }],
    ['a priority that is no number', { priority: '10' }],
    ['a priority without an end', { priority: Number.NEGATIVE_INFINITY }],
    ['a priority that is not a number', { priority: Number.NaN }],
    ['a priority beyond a month', { priority: 2_147_484 }],
    ['a priority of nothing', { priority: null }],
    ['eleven tags', { tags: Array.from({ length: 11 }, (_, index) => `tag ${index}`) }],
    ['an empty tag', { tags: ['a', ''] }],
    ['an endless tag', { tags: 'x'.repeat(129) }],
    ['a tag that is no string', { tags: [7] }],
    ['tags that are no list', { tags: 7 }],
    ['metadata that is a list', { metadata: [1] }],
    ['metadata that is null', { metadata: null }],
    ['metadata that is not JSON', { metadata: { at: new Map() } }],
    ['metadata that is a Map', { metadata: new Map([['a', 1]]) }],
    ['a queue that is a name', { queue: 'fast' }],
    ['a queue without a name', { queue: {} }],
    ['a concurrency key that is no string', { concurrencyKey: 7 }],
    ['an empty concurrency key', { concurrencyKey: '' }],
  ])('are refused before anything is stored: %s', async (_what, options) => {
    await using t = await createTestEngine({ tasks: [plain] })
    const triggering = t.engine.trigger(plain, null, options as TriggerOptions)
    await expect(triggering).rejects.toThrow(/^Cannot /)
    expect((await t.engine.runs.list()).data).toEqual([])
  })

  it('count seconds where the service does: ttl and maxDuration', async () => {
    const slow = bodyTask(() => t.clock.sleep('3s'))
    await using t = await createTestEngine({ tasks: [slow], concurrency: 1, clock: { mode: 'manual' } })
    const first = await t.engine.trigger(slow, null, { maxDuration: 2 })
    const second = await t.engine.trigger(slow, null, { ttl: 1 })
    await t.clock.advance('1s')
    expect((await t.engine.runs.retrieve(second.id)).status).toBe('EXPIRED')
    await t.clock.advance(999)
    expect((await t.engine.runs.retrieve(first.id)).status).toBe('EXECUTING')
    await t.clock.advance(1)
    expect((await t.engine.runs.retrieve(first.id)).status).toBe('TIMED_OUT')
    await t.clock.advance('1m')
  })
})

describe('task', () => {
  it.each<[string, unknown]>([
    ['no id', { run: () => undefined }],
    ['an empty id', { id: '', run: () => undefined }],
    ['no function', { id: 'a' }],
    ['a limit of nothing', { id: 'a', run: () => undefined, queue: { concurrencyLimit: 0 } }],
    ['half a limit', { id: 'a', run: () => undefined, queue: { concurrencyLimit: 1.5 } }],
    ['an unreadable ttl', { id: 'a', run: () => undefined, ttl: 'later' }],
    ['an unreadable maxDuration', { id: 'a', run: () => undefined, maxDuration: -1 }],
  ])('refuses a definition with %s', (_what, options) => {
    expect(() => task(options as never)).toThrow(/^Cannot /)
  })

  it('has a ttl that a trigger can override', async () => {
    const short = bodyTask(() => t.clock.sleep('10s'), { ttl: 5 })
    await using t = await createTestEngine({ tasks: [short], concurrency: 1 })
    const first = await t.engine.trigger(short, null)
    const second = await t.engine.trigger(short, null)
    const third = await t.engine.trigger(short, null, { ttl: '1m' })
    expect(await Promise.all([first, second, third].map(async (run) => (await run.outcome()).ok))).toEqual([
      true,
      false,
      true,
    ])
  })
})
