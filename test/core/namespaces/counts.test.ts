import { describe, expect, it } from 'vitest'
import { type Storage, type StatusCount, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'

const manual = { clock: { mode: 'manual' } } as const
const quick = bodyTask(() => 'done', { id: 'quick' })
const asks = bodyTask(async () => wait.forToken(await wait.createToken({ timeout: '1h' })), { id: 'asks' })

/** The counts that are not zero, with a mark where there may be more. */
function shown(counts: Readonly<Record<string, StatusCount>>): Readonly<Record<string, string>> {
  const some = Object.entries(counts).filter(([, { count }]) => count > 0)
  return Object.fromEntries(
    some.map(([status, { count, isMore }]) => [status, `${count}${isMore ? '+' : ''}`]),
  )
}

/** The storage of this project, and one that has no counts of its own. */
const storages = [
  ['with counts', (): Storage => projectStorage()],
  ['without counts', (): Storage => ({ ...projectStorage(), counts: undefined }) as unknown as Storage],
] as const

describe.each(storages)('runs.counts of a storage %s', (_name, open) => {
  it('counts runs of each status, of all that the filters leave', async () => {
    await using t = await createTestEngine({ ...manual, tasks: [quick, asks], storage: open() })
    const { runs } = t.engine
    for (const tags of [['a'], ['a', 'b'], []]) await t.engine.trigger(quick, null, { tags })
    await t.engine.trigger(asks, null, { tags: ['b'], queue: { name: 'mail' } })
    await t.engine.trigger(quick, null, { delay: '1d' })
    await t.clock.settle()
    const counts = await runs.counts()
    expect(Object.keys(counts)).toHaveLength(11)
    expect(shown(counts)).toEqual({ DELAYED: '1', WAITING: '1', COMPLETED: '3' })
    expect(shown(await runs.counts({ tag: ['a', 'b'] }))).toEqual({ WAITING: '1', COMPLETED: '2' })
    expect(shown(await runs.counts({ taskIdentifier: 'asks' }))).toEqual({ WAITING: '1' })
    expect(shown(await runs.counts({ queue: 'mail' }))).toEqual({ WAITING: '1' })
    expect(shown(await runs.counts({ queue: 'mail', tag: 'a' }))).toEqual({})
    await t.clock.advance('2h')
    await t.engine.trigger(quick, null)
    await t.clock.settle()
    expect(shown(await runs.counts({ period: '1h' }))).toEqual({ COMPLETED: '1' })
  })

  it('says that there may be more, where it has not looked at all', async () => {
    await using t = await createTestEngine({ ...manual, tasks: [quick], storage: open() })
    for (const queue of ['one', 'two', 'two']) await t.engine.trigger(quick, null, { queue: { name: queue } })
    await t.clock.settle()
    expect(shown(await t.engine.runs.counts({ queue: 'two', atMost: 3 }))).toEqual({ COMPLETED: '2' })
    expect(shown(await t.engine.runs.counts({ queue: 'two', atMost: 1 }))).toEqual({ COMPLETED: '1+' })
  })
})

describe.each(storages)('wait.countTokens of a storage %s', (_name, open) => {
  it('counts tokens of each status, of all that the filters leave', async () => {
    await using t = await createTestEngine({ ...manual, storage: open() })
    const { wait: tokens } = t.engine
    const first = await tokens.createToken({ tags: ['a'] })
    await tokens.createToken({ tags: ['a', 'b'], timeout: '1h' })
    await tokens.createToken({ timeout: '1h' })
    await tokens.createToken({ timeout: '1m' })
    await tokens.completeToken(first)
    await t.clock.advance('2m')
    expect(await tokens.countTokens()).toEqual({
      WAITING: { count: 2, isMore: false },
      COMPLETED: { count: 1, isMore: false },
      TIMED_OUT: { count: 1, isMore: false },
    })
    for (const filter of [{ tags: ['a', 'b'] }, { tag: ['a', 'b'] }])
      expect(shown(await tokens.countTokens(filter))).toEqual({ WAITING: '1', COMPLETED: '1' })
    expect(shown(await tokens.countTokens({ period: '1m' }))).toEqual({})
  })
})

describe('counts', () => {
  it.each([
    [{ atMost: 0 }, RangeError, /atMost/],
    [{ atMost: 1.5 }, RangeError, /atMost/],
    [{ atMost: 1_000_001 }, RangeError, /atMost/],
    [{ status: 'WAITING' }, TypeError, /status/],
    [{ tag: 'a', tags: 'a' }, TypeError, /two names/],
    [{ period: '-1h' }, RangeError, /-1h/],
  ])('refuse %j', async (filter, type, message) => {
    await using t = await createTestEngine(manual)
    for (const call of [
      () => t.engine.runs.counts(filter as object),
      () => t.engine.wait.countTokens(filter as object),
    ]) {
      const error = await rejection(call())
      expect(error).toBeInstanceOf(type)
      expect(String(error)).toMatch(message)
    }
  })
})
