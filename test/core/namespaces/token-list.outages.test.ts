import { describe, expect, it } from 'vitest'
import type { ListTokensParams } from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { bodyTask, rejection } from '../../support/body-task.ts'

const START = Date.UTC(2000, 0, 1)
const HOUR_MS = 3_600_000
const manual = { clock: { mode: 'manual' } } as const

async function idsOf(t: TestEngine, params: ListTokensParams = {}): Promise<string[]> {
  const ids: string[] = []
  for await (const token of t.engine.wait.listTokens(params)) ids.push(token.id)
  return ids
}

async function createMany(t: TestEngine, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < count; index += 1)
    ids.push((await t.engine.wait.createToken({ timeout: '1y' })).id)
  return ids
}

describe('listTokens', () => {
  it('is empty to begin with', async () => {
    await using t = await createTestEngine(manual)
    const page = await t.engine.wait.listTokens()
    expect(page).toMatchObject({ data: [], pagination: {} })
    expect([page.hasNextPage(), page.hasPreviousPage(), await idsOf(t)]).toEqual([false, false, []])
  })

  it('is newest first, in the order of ids, and walks every page', async () => {
    await using t = await createTestEngine(manual)
    const ids = await createMany(t, 30)
    await t.clock.advance('1ms')
    ids.push(...(await createMany(t, 30)))
    expect(await idsOf(t)).toEqual([...ids].reverse())
    expect(await idsOf(t, { limit: 7 })).toEqual([...ids].reverse())
    expect([...ids].sort()).toEqual(ids)
    expect((await t.engine.wait.listTokens()).data).toHaveLength(25)
  })

  it('answers pages that lead to one another', async () => {
    await using t = await createTestEngine(manual)
    const newest = (await createMany(t, 5)).reverse()
    const first = await t.engine.wait.listTokens({ limit: 2 })
    const second = await first.getNextPage()
    const third = await second.getNextPage()
    const pages = [first, second, third].map(({ data }) => data.map(({ id }) => id))
    expect(pages).toEqual([newest.slice(0, 2), newest.slice(2, 4), newest.slice(4)])
    expect([first, second, third].map((page) => [page.hasPreviousPage(), page.hasNextPage()])).toEqual([
      [false, true],
      [true, true],
      [true, false],
    ])
    expect((await third.getPreviousPage()).data).toEqual(second.data)
    expect((await t.engine.wait.listTokens({ limit: 2, after: second.pagination.next! })).data).toEqual(
      third.data,
    )
    expect((await t.engine.wait.listTokens({ limit: 2, before: second.pagination.previous! })).data).toEqual(
      first.data,
    )
    expect(await rejection(third.getNextPage())).toBeInstanceOf(RangeError)
    expect(await rejection(first.getPreviousPage())).toBeInstanceOf(RangeError)
  })

  it('keeps its pages while tokens are added and settled', async () => {
    await using t = await createTestEngine(manual)
    const newest = (await createMany(t, 6)).reverse()
    const first = await t.engine.wait.listTokens({ limit: 2 })
    await createMany(t, 3)
    await t.engine.wait.completeToken(newest[1]!, null)
    await t.engine.wait.completeToken(newest[3]!, null)
    const second = await first.getNextPage()
    expect(second.data.map(({ id, status }) => [id, status])).toEqual([
      [newest[2], 'WAITING'],
      [newest[3], 'COMPLETED'],
    ])
    await createMany(t, 1)
    expect((await second.getNextPage()).data.map(({ id }) => id)).toEqual(newest.slice(4))
  })

  it('can be iterated again and awaited as well', async () => {
    await using t = await createTestEngine(manual)
    const ids = (await createMany(t, 3)).reverse()
    const list = t.engine.wait.listTokens({ limit: 2 })
    for (let round = 0; round < 2; round += 1) {
      const seen: string[] = []
      for await (const { id } of list) seen.push(id)
      expect(seen).toEqual(ids)
    }
    expect((await list).data).toHaveLength(2)
  })

  it('never shows an output', async () => {
    await using t = await createTestEngine(manual)
    const { id } = await t.engine.wait.createToken({ tags: 'a', idempotencyKey: 'k' })
    await t.engine.wait.completeToken(id, { secret: 'output' })
    const { data } = await t.engine.wait.listTokens()
    expect(data[0]).not.toHaveProperty('output')
    expect(JSON.stringify(data)).not.toContain('secret')
    expect(data).toEqual([
      {
        id,
        status: 'COMPLETED',
        url: data[0]!.url,
        tags: ['a'],
        createdAt: new Date(START),
        timeoutAt: new Date(START + 600_000),
        completedAt: new Date(START),
        idempotencyKey: 'k',
        idempotencyKeyExpiresAt: new Date(START + HOUR_MS),
      },
    ])
  })
})

describe('the run of a token', () => {
  it('is the one that made it', async () => {
    const asks = bodyTask(async ({ wait }) => (await wait.createToken()).id)
    await using t = await createTestEngine({ tasks: [asks] })
    const run = await t.engine.trigger(asks, null)
    const made = await run.result()
    const other = await t.engine.wait.createToken()
    expect(await t.engine.wait.retrieveToken(made)).toMatchObject({ runId: run.id })
    expect(await t.engine.wait.retrieveToken(other)).not.toHaveProperty('runId')
    const { data } = await t.engine.wait.listTokens()
    expect(data.map(({ runId }) => runId)).toEqual([undefined, run.id])
  })
})

describe('a filter of listTokens', () => {
  /** One of each state, an hour apart, oldest first. */
  async function openWithThree(): Promise<TestEngine & { readonly ids: readonly [string, string, string] }> {
    const t = await createTestEngine(manual)
    const create = async (...tags: string[]): Promise<string> =>
      (await t.engine.wait.createToken({ tags, timeout: '90m', idempotencyKey: tags[0]! })).id
    const timedOut = await create('a', 'b')
    await t.clock.advance('1h')
    const completed = await create('b')
    await t.engine.wait.completeToken(completed)
    await t.clock.advance('1h')
    const waiting = await create('c')
    return { ...t, ids: [timedOut, completed, waiting] }
  }

  it.each<[ListTokensParams, number[]]>([
    [{}, [2, 1, 0]],
    [{ status: 'WAITING' }, [2]],
    [{ status: 'COMPLETED' }, [1]],
    [{ status: 'TIMED_OUT' }, [0]],
    [{ status: ['COMPLETED', 'TIMED_OUT'] }, [1, 0]],
    [{ status: [] }, [2, 1, 0]],
    [{ tags: 'b' }, [1, 0]],
    [{ tag: 'b' }, [1, 0]],
    [{ tags: ['a', 'c'] }, [2, 0]],
    [{ tags: ['a', 'b'] }, [1, 0]],
    [{ tags: 'unused' }, []],
    [{ idempotencyKey: 'b' }, [1]],
    [{ idempotencyKey: 'unused' }, []],
    [{ period: '1h' }, [2, 1]],
    [{ period: '59m' }, [2]],
    [{ period: '30d' }, [2, 1, 0]],
    [{ period: 2 * HOUR_MS }, [2, 1, 0]],
    [{ from: new Date(START + HOUR_MS) }, [2, 1]],
    [{ from: START + HOUR_MS + 1 }, [2]],
    [{ to: new Date(START + HOUR_MS) }, [1, 0]],
    [{ to: START }, [0]],
    [{ from: START + HOUR_MS, to: START + HOUR_MS }, [1]],
    [{ from: START + 2 * HOUR_MS, period: '30d' }, [2]],
    [{ from: START, period: '1h' }, [2, 1]],
    [{ tags: 'b', status: 'COMPLETED', period: '1h' }, [1]],
  ])('%j', async (params, expected) => {
    await using t = await openWithThree()
    expect(await idsOf(t, { ...params, limit: 1 })).toEqual(expected.map((index) => t.ids[index]))
  })

  it('by key finds the tokens that had it before, too', async () => {
    await using t = await createTestEngine(manual)
    const options = { idempotencyKey: 'k', idempotencyKeyTTL: '1m' }
    const old = await t.engine.wait.createToken(options)
    await t.clock.advance('1m')
    const young = await t.engine.wait.createToken(options)
    expect(await idsOf(t, { idempotencyKey: 'k' })).toEqual([young.id, old.id])
  })

  it.each<[ListTokensParams, RegExp]>([
    [{ status: 'DONE' as never }, /Cannot list by status "DONE": use WAITING, COMPLETED, TIMED_OUT/],
    [{ period: 'lately' }, /Cannot read period "lately"/],
    [{ period: '7' }, /Cannot read period "7"/],
    [{ period: 0 }, /period 0/],
    [{ period: -1 }, /Cannot read period -1/],
    [{ from: new Date(Number.NaN) }, /Cannot read from Invalid Date/],
    [{ to: Number.NaN }, /Cannot read to NaN/],
    [{ from: '2000-01-01' as never }, /Cannot read from 2000-01-01/],
    [{ limit: 0 }, /Cannot use limit 0: /],
    [{ limit: 101 }, /from 1 to 100/],
    [{ limit: 1.5 }, /whole number/],
    [{ after: 'waitpoint_1', before: 'waitpoint_2' }, /after and before/],
  ])('that cannot be used is refused: %j', async (params, message) => {
    await using t = await createTestEngine(manual)
    for (const failing of [t.engine.wait.listTokens(params), idsOf(t, params)]) {
      const error = await rejection(failing)
      expect(error).toBeInstanceOf(RangeError)
      expect((error as Error).message).toMatch(message)
    }
  })
})
