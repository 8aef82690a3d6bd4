import { describe, expect, it } from 'vitest'
import { memoryStorage, task, wait } from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { Visitor } from './visitor.ts'

const run = async ({ ms, boom = false }: { ms?: number; boom?: boolean }): Promise<void> => {
  if (ms !== undefined) await wait.for({ seconds: ms / 1_000 })
  if (boom) throw new Error('no')
}
const charge = task({ id: 'charge', run, retry: { maxAttempts: 1 } })
const other = task({ id: 'other', run, retry: { maxAttempts: 1 } })

const opened = (storage = memoryStorage()): Promise<TestEngine> =>
  createTestEngine({
    tasks: [charge, other],
    storage,
    retention: { maxAge: '30d' },
    clock: { start: Date.UTC(2026, 5, 1, 12, 30), mode: 'manual' },
  })

/** The text of each number, and the heights of its bars. */
async function stripOf(visitor: Visitor, address = '/runs'): Promise<readonly (readonly [string, string])[]> {
  const { text } = await visitor.get(address)
  const [, markup = ''] = /<dl class="sheet strip"[^>]*>([\s\S]*?)<\/dl>/.exec(text) ?? []
  return [...markup.matchAll(/<div>([\s\S]*?)<\/div>/g)].map(([, cell = '']) => {
    const bars = [...cell.matchAll(/<rect[^>]*height="(\d+)"/g)].map(([, height]) => height)
    const words = cell.replace(/<svg[\s\S]*?<\/svg>|<br \/>/g, ' ').replace(/<[^>]*>/g, ' ')
    return [words.trim().replace(/\s+/g, ' '), bars.join(' ').replace(/\b(0 )+/, '… ')] as const
  })
}

describe('the strip above the runs', () => {
  it('shows the last 24 hours, hour by hour, how much failed and of what, and what goes on', async () => {
    await using t = await opened()
    const visitor = new Visitor(t.engine, { authorize: () => true })
    expect(await stripOf(visitor)).toEqual([])
    await t.engine.trigger(charge, { boom: true }, { tags: 'too old' })
    await t.clock.advance('24h')
    for (let count = 1; count <= 8; count += 1) await t.engine.trigger(charge, { boom: count % 4 === 0 })
    await t.clock.advance('1h')
    for (const ms of [1_000, 3_000, 2_000]) await t.engine.trigger(charge, { ms })
    await t.engine.trigger(other, { boom: true })
    await t.clock.advance('5s')
    await t.engine.trigger(other, { ms: 3_600_000 })
    await t.engine.trigger(other, {}, { delay: '1h' })
    await t.clock.settle()
    expect(await stripOf(visitor)).toEqual([
      ['New runs, last 24 h 14 6 in this hour', '… 40 30'],
      ['Failed of these 3 21.4 %, mostly charge', '… 40 20'],
      ['Duration, p50 and p95 0 ms p95 3.0 s, of the last 9', ''],
      ['Now 0 executing 1 wait 0 in line, 1 delayed', ''],
    ])
    expect(await stripOf(visitor, '/runs?status=failed')).toEqual([])
  })

  it('is counted anew after two seconds, and with the hours that are over after a minute', async () => {
    await using t = await opened()
    const visitor = new Visitor(t.engine, { authorize: () => true })
    const first = async (): Promise<string | undefined> => (await stripOf(visitor))[0]?.join(': ')
    await t.engine.trigger(charge, {})
    await t.clock.settle()
    expect(await first()).toBe('New runs, last 24 h 1 1 in this hour: … 40')
    await t.engine.trigger(charge, {})
    await t.clock.settle()
    expect(await first()).toBe('New runs, last 24 h 1 1 in this hour: … 40')
    await t.clock.advance('2s')
    expect(await first()).toBe('New runs, last 24 h 2 2 in this hour: … 40')
    await t.clock.advance('29m')
    expect(await first()).toBe('New runs, last 24 h 2 2 in this hour: … 40')
    await t.clock.advance('58s')
    await t.engine.trigger(charge, {})
    await t.clock.settle()
    expect(await first()).toBe('New runs, last 24 h 3 1 in this hour: … 40 20')
    await t.clock.advance('23h')
    expect(await first()).toBe('New runs, last 24 h 1 0 in this hour: 40 … 0')
  })

  it('is left out where the storage does not count', async () => {
    const { counts: _counts, ...storage } = memoryStorage()
    await using t = await opened(storage)
    const visitor = new Visitor(t.engine, { authorize: () => true })
    await t.engine.trigger(charge, {})
    await t.clock.settle()
    expect(await stripOf(visitor)).toEqual([])
    expect((await visitor.get('/runs')).text).toContain('COMPLETED')
  })
})
