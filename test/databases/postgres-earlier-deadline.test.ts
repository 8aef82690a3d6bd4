import { describe, expect, it, onTestFinished } from 'vitest'
import { createEngine, type Engine, type RunHandle, task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { schemaOfTest } from './postgres/fresh-schema.ts'
import { testPool } from './postgres-schemas.ts'

const ask = task({
  id: 'ask',
  run: async (tokenId: string) => ((await wait.forToken(tokenId)).ok ? 'answered' : 'no answer'),
})

/** An engine of a process of its own, as far as the database can tell. By itself it looks around after twenty minutes. */
function engineOf(schema: string, execute: boolean): Engine {
  const pool = testPool()
  const storage = postgresStorage({ pool, schema })
  const engine = createEngine({ tasks: [ask], storage, execute, leaseMs: 3_600_000 })
  onTestFinished(async () => {
    await engine.close()
    await pool.end()
  })
  return engine
}

/** An engine whose run waits for a token of an hour, and another one that executes nothing. */
async function waiting(): Promise<{
  readonly worker: Engine
  readonly other: Engine
  readonly tokenId: string
  readonly run: RunHandle<string>
}> {
  const schema = schemaOfTest()
  const worker = engineOf(schema, true)
  const other = engineOf(schema, false)
  const { id: tokenId } = await worker.wait.createToken({ timeout: '1h' })
  const run = await worker.trigger(ask, tokenId)
  while ((await worker.runs.retrieve(run)).status !== 'WAITING') await pauseReal(5)
  await other.ready()
  return { worker, other, tokenId, run }
}

describe('an earlier deadline that another process has set', () => {
  it.each([
    ['which lives on', false],
    ['which has ended since', true],
  ])('is met for the run that waits, %s', async (_what, isOver) => {
    const { other, tokenId, run } = await waiting()
    await other.wait.extendToken(tokenId, 500)
    if (isOver) await other.close()
    expect(await run.result()).toBe('no answer')
  })

  it.each([
    ['which lives on', false],
    ['which has ended since', true],
  ])('is told to one who follows the token, %s', async (_what, isOver) => {
    const { worker, other, tokenId } = await waiting()
    const told: unknown[] = []
    const states = worker.wait.subscribeToToken(tokenId)[Symbol.asyncIterator]()
    await states.next()
    await other.wait.extendToken(tokenId, 500)
    if (isOver) await other.close()
    for (let state = await states.next(); state.done !== true; state = await states.next())
      told.push(state.value.status)
    expect(told.at(-1)).toBe('TIMED_OUT')
  })

  it.each([
    ['which lives on', false],
    ['which has ended since', true],
  ])('of a token that it has made is told to one who follows tokens, %s', async (_what, isOver) => {
    const { worker, other } = await waiting()
    const lists = worker.wait.subscribeToTokens({ tags: ['short'] })[Symbol.asyncIterator]()
    expect((await lists.next()).value).toEqual([])
    const { id } = await other.wait.createToken({ timeout: 500, tags: ['short'] })
    expect((await lists.next()).value).toMatchObject([{ id, status: 'WAITING' }])
    if (isOver) await other.close()
    expect((await lists.next()).value).toEqual([])
    await lists.return?.()
  })
})
