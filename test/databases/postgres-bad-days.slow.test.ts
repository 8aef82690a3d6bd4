import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine, type EngineOptions, task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import type { TokenStore } from '../../src/contract/storage.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { madeId, namedStorage } from '../../src/testing/conformance/named-storage.ts'
import { manualToken } from '../../src/testing/conformance/sample-records.ts'
import { rejection } from '../support/body-task.ts'
import { temporaryFolder } from './drivers.ts'
import { buildProgram, ended, startProgram } from './kill/killed-process.ts'
import { untilBlocked } from './postgres/blocked.ts'
import { connectPostgres, postgresUrl } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { Wire } from './postgres/wire.ts'
import { patientPool, testPool } from './postgres-schemas.ts'

const ask = task({
  id: 'ask',
  run: async (token: string) => wait.forToken<string>(token).unwrap(),
})

/** An engine that executes, on a connection of its own. */
function worker(storage: EngineOptions['storage'], options: EngineOptions = {}): Engine {
  return createEngine({ ...options, tasks: [ask], ...(storage && { storage }) })
}

/** An approval from the trigger to the result. */
async function approve(web: Engine, answer: string): Promise<unknown> {
  const token = await web.wait.createToken()
  const run = await web.trigger(ask, token.id)
  await waiting(web, run.id)
  await web.wait.completeToken(token, answer)
  return run.result()
}

async function waiting(engine: Engine, run: string): Promise<void> {
  for (;;) {
    const { status } = await engine.runs.retrieve(run)
    if (status === 'WAITING') return
    await pauseReal(5)
  }
}

describe('a role that may not create the schema', () => {
  it('is told which SQL to have run, and works once another role has run it', async () => {
    await using schema = new FreshSchema()
    await using admin = await connectPostgres()
    const role = `limited_${process.pid}`
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`)
    const url = new URL(postgresUrl())
    url.username = role
    url.password = 'secret'
    const open = (): Engine =>
      worker(postgresStorage({ connectionString: String(url), schema: schema.schema }))
    try {
      await using refused = open()
      const { message } = (await rejection(refused.ready())) as Error
      expect(message).toContain(`role "${role}" may not create schema "${schema.schema}"`)
      await admin.query(message.slice(message.indexOf('BEGIN;')))
      await using engine = open()
      expect(await approve(engine, 'yes')).toBe('yes')
    } finally {
      await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
    }
  })
})

describe('a pool of one connection', () => {
  it('is refused with what to do instead, and then does', async () => {
    await using schema = new FreshSchema()
    const pool = testPool(1)
    try {
      const given = { pool, schema: schema.schema }
      await using refused = worker(postgresStorage(given))
      expect(String(await rejection(refused.ready()))).toMatch(
        /give `listen` a connection string, or `false`/,
      )
      for (const listen of [false, postgresUrl()]) {
        await using engine = worker(postgresStorage({ ...given, listen, pollMs: 20 }))
        expect(await approve(engine, 'yes')).toBe('yes')
      }
    } finally {
      await pool.end()
    }
  })
})

describe('notifications that are lost', () => {
  it('delay what they would have told until the next look, and lose nothing', async () => {
    await using schema = new FreshSchema()
    let isDeaf = false
    await using wire = await Wire.to(postgresUrl(), { isDeaf: () => isDeaf })
    // A look is a third of it away. An engine that loses it on a busy machine begins anew, as often as it takes.
    const [leaseMs, maxInterruptions] = [6_000, 1_000_000]
    await using far = worker(postgresStorage({ connectionString: wire.url, schema: schema.schema }), {
      leaseMs,
      maxInterruptions,
    })
    await far.ready()
    isDeaf = true
    // Also what a worker that was alone until then would be told of the first other one.
    await using web = worker(postgresStorage(schema), { execute: false, leaseMs })
    expect(await approve(web, 'yes')).toBe('yes')
  })
})

describe('a connection that listens and dies without a word', () => {
  it('is replaced, and what was told meanwhile is looked for', async () => {
    await using schema = new FreshSchema()
    await using wire = await Wire.to(postgresUrl())
    const storage = postgresStorage({
      connectionString: schema.connectionString,
      schema: schema.schema,
      listen: wire.url,
      listenCheckMs: 50,
    })
    // No engine polls while the test runs: the lease is longer than the test.
    const leaseMs = 3_600_000
    await using far = worker(storage, { leaseMs })
    await far.ready()
    await using web = worker(postgresStorage(schema), { execute: false, leaseMs })
    await web.ready()
    wire.silence()
    expect(await approve(web, 'yes')).toBe('yes')
  })
})

describe('processes that start at once on an empty database', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('worker')))
  afterAll(() => rmSync(program, { force: true }))

  it('make one schema, and all of them work', async () => {
    await using schema = new FreshSchema()
    using folder = temporaryFolder()
    const args = [program, schema.place(), folder.file('observations'), 'finish']
    const printed = await Promise.all([1, 2, 3, 4].map(() => ended(startProgram(args))))
    expect(printed).toEqual(['', '', '', ''])
    await using engine = worker(postgresStorage(schema))
    expect(await approve(engine, 'yes')).toBe('yes')
  })
})

describe('a question that is asked again while the first is still under way', () => {
  it('has one effect, and the answer of that one', async () => {
    await using schema = new FreshSchema()
    await using wire = await Wire.to(postgresUrl())
    await using pool = patientPool(wire.url)
    await using engine = worker(postgresStorage({ pool, schema: schema.schema }))
    const token = await engine.wait.createToken()
    await using other = await connectPostgres()
    await other.query(`BEGIN; SELECT 1 FROM ${schema.schema}.tokens WHERE id = '${token.id}' FOR UPDATE`)
    const completed = engine.wait.completeToken(token, 'mine')
    await untilBlocked(schema.schema)
    wire.cut()
    await untilBlocked(schema.schema, 2)
    await other.query('COMMIT')
    expect(await completed).toMatchObject({ success: true })
    expect(await engine.wait.retrieveToken(token)).toMatchObject({ status: 'COMPLETED', output: 'mine' })
  })

  it.each<readonly [string, number, (tokens: TokenStore, now: number) => unknown, object]>([
    ['who completes a token', 999, settle, { won: true, settledNow: true }],
    ['who comes too late to complete it', 1_000, settle, { won: false, settledNow: true }],
    ['who reads it past its deadline', 1_000, (tokens, now) => tokens.get('t', now), { settledNow: true }],
  ])('tells %s that it settled it', async (_what, now, ask, answer) => {
    await using schema = new FreshSchema()
    await using wire = await Wire.to(postgresUrl())
    await using pool = patientPool(wire.url)
    const storage = namedStorage(postgresStorage({ pool, schema: schema.schema }))
    await storage.open()
    await storage.tokens.insert({
      record: manualToken('t', { createdAt: 1, timeoutAt: 1_000 }),
      now: 1,
      by: 'me',
    })
    await using other = await connectPostgres()
    await other.query(
      `BEGIN; SELECT 1 FROM ${schema.schema}.tokens WHERE id = '${madeId('waitpoint', 't', 1)}' FOR UPDATE`,
    )
    const answered = ask(storage.tokens, now)
    await untilBlocked(schema.schema)
    wire.cut()
    await untilBlocked(schema.schema, 2)
    await other.query('COMMIT')
    expect(await answered).toMatchObject(answer)
    expect(await ask(storage.tokens, 1_000)).toMatchObject({ settledNow: false })
    await storage.leave({ owner: 'me', now: 1_000 })
  })
})

function settle(tokens: TokenStore, now: number): unknown {
  return tokens.settle({ id: 't', outputJson: '1', now, by: 'me' })
}
