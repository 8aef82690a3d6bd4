import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { rejection } from '../support/body-task.ts'
import { postgresUrl } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { Wire } from './postgres/wire.ts'
import { testPool } from './postgres-schemas.ts'

const job = task({ id: 'job', run: (payload: number) => payload })
const ask = task({ id: 'ask', run: (id: string) => wait.forToken<string>(id).unwrap() })

/** Longer than a test: no lease is renewed, and none is lost. */
const leaseMs = 3_600_000
/** What waits for a silent connection waits for some minutes. */
const LIMIT_MS = 300_000

/** A call that can join a transaction: with the same key, or of the same token, each time. */
type Call = (
  engine: Engine,
  tokenId: string,
  options?: { readonly transaction: object },
) => PromiseLike<unknown>

/** Triggers a run that waits for a token, and resolves with its handle once it does. */
async function waiting(engine: Engine, tokenId: string): Promise<{ result(): Promise<string> }> {
  const run = await engine.trigger(ask, tokenId)
  while ((await engine.runs.retrieve(run)).status !== 'WAITING') await pauseReal(5)
  return run
}

/** Everything that has nothing to do with the transaction goes on. */
async function expectOthersToGoOn(engine: Engine): Promise<void> {
  const run = await engine.trigger(job, 2, { idempotencyKey: 'another' })
  expect(await run.result()).toBe(2)
  const token = await engine.wait.createToken()
  const asking = await waiting(engine, token.id)
  await engine.wait.completeToken(token, 'yes')
  expect(await asking.result()).toBe('yes')
}

/** The connection of the caller falls silent with the thing of this number that a joined call sends. Resolves with whether there was one. */
async function joinSilently(call: Call, at: number): Promise<boolean> {
  await using schema = new FreshSchema()
  const silent = createDeferred<'silent'>()
  let isJoining = false
  let sent = -1
  await using wire = await Wire.to(postgresUrl(), {
    fate: () => {
      if (!isJoining || (sent += 1) < at) return 'passes'
      silent.resolve('silent')
      return 'falls silent'
    },
  })
  await using engine = createEngine({ tasks: [job, ask], storage: postgresStorage(schema), leaseMs })
  const token = await engine.wait.createToken()
  await waiting(engine, token.id)
  const pool = testPool(1, { connectionString: wire.url })
  pool.on('error', () => undefined)
  const client = await pool.connect()
  client.on('error', () => undefined)
  await client.query('BEGIN')
  isJoining = true
  const joined = Promise.resolve(call(engine, token.id, { transaction: client }))
  const lost = rejection(joined).catch(() => undefined)
  const isSilent = (await Promise.race([silent.promise, joined])) === 'silent'
  isJoining = false
  if (isSilent) {
    await expectOthersToGoOn(engine)
    // It is done, or waits for the lock of the transaction: the server knows nothing of the silence.
    const same = Promise.resolve(call(engine, token.id)).catch((error: unknown) => error)
    await engine.close()
    const answer = await same
    if (answer instanceof Error) expect(answer).toMatchObject({ code: 'ERR_STORAGE_UNAVAILABLE' })
    wire.cut()
    // What the driver of the caller says of its own connection.
    expect(await lost).toMatchObject({ message: 'Connection terminated unexpectedly' })
  }
  client.release(true)
  await pool.end()
  return isSilent
}

describe('the connection of a caller that falls silent in a call that has joined its transaction', () => {
  it.each<[string, Call]>([
    ['trigger', (engine, _, options) => engine.trigger(job, 1, { idempotencyKey: 'one', ...options })],
    ['completeToken', (engine, tokenId, options) => engine.wait.completeToken(tokenId, 'yes', options)],
  ])(
    'holds up neither other calls nor close: %s',
    async (_, call) => {
      let at = 0
      while (await joinSilently(call, at)) at += 1
      // Whether it is a transaction, the call, and its hints: a question and an answer each.
      expect(at).toBe(6)
    },
    LIMIT_MS,
  )
})
