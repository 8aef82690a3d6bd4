import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, task, wait } from 'waitpoint'
import { type PostgresPool, postgresStorage } from 'waitpoint/postgres'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { runInChild } from '../clock/child-process.ts'
import { postgresUrl } from './postgres/client.ts'
import { schemaOfTest } from './postgres/fresh-schema.ts'
import { countedUrl } from './postgres/index-reads.ts'
import { Wire } from './postgres/wire.ts'
import { type TestPool, testPool } from './postgres-schemas.ts'

const say = task({ id: 'say', run: (word: string) => word })
const ask = task({ id: 'ask', run: (tokenId: string) => wait.forToken<string>(tokenId).unwrap() })
const askAnew = task({
  id: 'ask-anew',
  run: async () => {
    const token = await wait.createToken({ tags: ['anew'] })
    // It parks in a later turn than it has made the token.
    await wait.retrieveToken(token)
    return wait.forToken<string>(token).unwrap()
  },
})

interface ProcessOptions {
  readonly execute?: boolean
  readonly listenCheckMs?: number
  /** Another way to the server, to listen over. */
  readonly listen?: string
}

/** A process of its own, as far as the database can tell, that counts its notifications. No engine polls while a test runs. */
class Process implements AsyncDisposable {
  notified = 0
  readonly engine: Engine
  readonly name: string
  readonly #pool: TestPool
  readonly #open: () => Engine

  constructor(schema: string, { execute = true, listenCheckMs = 3_600_000, listen }: ProcessOptions = {}) {
    this.name = `${schema} ${execute ? 'executes' : 'looks'}`
    this.#pool = testPool(6, { connectionString: countedUrl(this.name) })
    const pool: PostgresPool = {
      query: (text, values) => {
        if (text.includes('pg_notify')) this.notified += 1
        return this.#pool.query(text, values)
      },
      connect: () => this.#pool.connect(),
    }
    this.#pool.on('error', () => undefined)
    const storage = postgresStorage({ pool, schema, listenCheckMs, ...(listen !== undefined && { listen }) })
    this.#open = () => createEngine({ tasks: [say, ask, askAnew], execute, leaseMs: 3_600_000, storage })
    this.engine = this.#open()
  }

  /** One more engine on its storage. */
  another(): Engine {
    return this.#open()
  }

  /** Resolves once it has asked the server whether others listen, from now on. */
  async looked(): Promise<void> {
    const { rows } = await this.#pool.query('SELECT clock_timestamp()::text AS now')
    const [{ now } = { now: '' }] = rows as readonly { readonly now: string }[]
    const look = `SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'SELECT EXISTS%pg_locks%'
      AND state = 'idle' AND query_start > $2::timestamptz`
    while ((await this.#pool.query(look, [this.name, now])).rows.length === 0);
  }

  /** How many notifications a run takes. */
  async notifiedFor(word: string): Promise<number> {
    const before = this.notified
    expect(await (await this.engine.trigger(say, word)).result()).toBe(word)
    return this.notified - before
  }

  /** How many notifications a run takes that makes a token, waits for it, and goes on with its answer. */
  async notifiedForToken(): Promise<number> {
    const before = this.notified
    const run = await this.engine.trigger(askAnew)
    while ((await this.engine.runs.retrieve(run.id)).status !== 'WAITING');
    const [asked] = (await this.engine.wait.listTokens({ tags: ['anew'], status: 'WAITING' })).data
    await this.engine.wait.completeToken(asked?.id ?? '', 'yes')
    expect(await run.result()).toBe('yes')
    return this.notified - before
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.close()
    await this.#pool.end()
  }
}

/** Resolves with the end of a run that executes in another process, told by that process. */
async function answered({ engine: here }: Process, { engine: there }: Process): Promise<string> {
  const token = await here.wait.createToken()
  const run = await there.trigger(ask, token.id)
  const ended = await followed(here, run.id)
  await there.wait.completeToken(token, 'yes')
  return ended.output
}

/** Follows a run that waits: resolves once this engine knows that it does. */
async function followed(engine: Engine, runId: string): Promise<{ readonly output: Promise<string> }> {
  const waiting = createDeferred<undefined>()
  const output = (async () => {
    for await (const run of engine.runs.subscribeToRun(runId)) {
      if (run.isWaiting) waiting.resolve(undefined)
      if (run.output !== undefined) return run.output as string
    }
    return ''
  })()
  await waiting.promise
  return { output }
}

describe('a process on Postgres', () => {
  it('notifies of nothing while no other one listens', async () => {
    await using alone = new Process(schemaOfTest())
    await alone.engine.ready()
    const before = alone.notified
    for (const word of ['one', 'two']) expect(await alone.notifiedFor(word)).toBe(0)
    expect(alone.notified - before).toBe(0)
  })

  it('counts all engines on its storage as one', async () => {
    await using alone = new Process(schemaOfTest(), { listenCheckMs: 10 })
    await using another = alone.another()
    for (const engine of [alone.engine, another]) await engine.ready()
    // The first may have been asked before the other engine was there; the last comes once the one before it was acted on.
    for (let look = 0; look < 3; look += 1) await alone.looked()
    for (let run = 0; run < 20; run += 1) expect(await alone.notifiedFor(`word ${run}`)).toBe(0)
  })

  it('tells another one from the moment it listens, and no longer once that has left', async () => {
    const schema = schemaOfTest()
    await using first = new Process(schema, { listenCheckMs: 10 })
    await first.notifiedFor('alone')
    {
      await using second = new Process(schema, { execute: false })
      const before = first.notified
      await second.engine.ready()
      // It may have missed what was changed before the first one heard of it.
      while (first.notified === before) await new Promise(setImmediate)
      expect(await answered(second, first)).toBe('yes')
    }
    while ((await first.notifiedFor('alone again')) > 0);
  })

  it('tells one that listens and looks at nothing of a run alone, though lists of tokens hear of its token', async () => {
    const schema = schemaOfTest()
    await using first = new Process(schema, { listenCheckMs: 10 })
    await using second = new Process(schema, { execute: false })
    await Promise.all([first, second].map(({ engine }) => engine.ready()))
    // It begins, parks, goes on and ends. What a slow machine spreads over more turns takes more, but not each time.
    let inARow = 0
    for (let run = 0; run < 200 && inARow < 3; run += 1)
      inARow = (await first.notifiedForToken()) <= 4 ? inARow + 1 : 0
    expect(inARow).toBe(3)
  })

  it('tells one that has lost its connection and listens again', async () => {
    const schema = schemaOfTest()
    await using first = new Process(schema, { listenCheckMs: 10 })
    await using second = new Process(schema, { execute: false, listenCheckMs: 10 })
    await Promise.all([first, second].map(({ engine }) => engine.ready()))
    await using admin = { pool: testPool(1), [Symbol.asyncDispose]: () => admin.pool.end() }
    for (let cut = 0; cut < 3; cut += 1) {
      await admin.pool.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ANY ($1)',
        [cut === 0 ? [first.name, second.name] : [second.name]],
      )
      expect(await answered(second, first)).toBe('yes')
    }
  })

  describe('whose connection does not hear that another one listens', () => {
    /** The end of a run as another process is told of it, when all that this one could do was to say so later. */
    async function toldLater(
      options: ProcessOptions,
      later: (first: Process) => Promise<unknown>,
    ): Promise<string> {
      let isDeaf = false
      await using wire = await Wire.to(postgresUrl(), { isDeaf: () => isDeaf })
      const schema = schemaOfTest()
      await using first = new Process(schema, { ...options, listen: wire.url })
      await first.engine.ready()
      isDeaf = true
      const token = await first.engine.wait.createToken()
      const run = await first.engine.trigger(ask, token.id)
      while ((await first.engine.runs.retrieve(run.id)).status !== 'WAITING');
      await using second = new Process(schema, { execute: false })
      const ended = await followed(second.engine, run.id)
      await first.engine.wait.completeToken(token, 'yes')
      await run.result()
      await later(first)
      return await ended.output
    }

    it('tells it once a check has found it', async () => {
      expect(await toldLater({ listenCheckMs: 10 }, () => Promise.resolve())).toBe('yes')
    })

    it('tells it when it closes', async () => {
      expect(await toldLater({}, ({ engine }) => engine.close())).toBe('yes')
    })
  })
})

describe('a process that is alone on Postgres', () => {
  const PROGRAM = `
    import { createRequire } from 'node:module'
    import { createEngine, task, wait } from './src/index.ts'
    import { postgresStorage } from './src/postgres.ts'

    const { Pool } = createRequire(process.cwd() + '/test/databases/')('pg')
    const ask = task({ id: 'ask', run: (tokenId) => wait.forToken(tokenId).unwrap() })
    const open = (connectionString, schema) => {
      // As the storage makes one of its own.
      const pool = new Pool({ connectionString, allowExitOnIdle: true })
      return createEngine({ tasks: [ask], storage: postgresStorage({ pool, schema }) })
    }
  `

  it('ends by itself once its engine is closed, and not before', async () => {
    const place = `${JSON.stringify(postgresUrl())}, ${JSON.stringify(schemaOfTest())}`
    const printed = await runInChild(`
      ${PROGRAM}
      const engine = open(${place})
      const token = await engine.wait.createToken()
      const run = await engine.trigger(ask, token.id)
      await engine.wait.completeToken(token, 'yes')
      console.log(await run.result())
      await engine.close()
      console.log('closed')
    `)
    expect(printed).toBe('yes\nclosed\n')
  })

  it('stays while it awaits a run that waits for what another process is to do', async () => {
    const schema = schemaOfTest()
    const printed = runInChild(`
      ${PROGRAM}
      const engine = open(${JSON.stringify(postgresUrl())}, ${JSON.stringify(schema)})
      const token = await engine.wait.createToken({ tags: ['to complete'] })
      console.log(await (await engine.trigger(ask, token.id)).result())
      await engine.close()
    `)
    await using other = new Process(schema, { execute: false })
    const isWaiting = async (): Promise<boolean> =>
      (await other.engine.runs.list({ status: 'WAITING' })).data.length > 0
    while (!(await isWaiting()));
    const { data } = await other.engine.wait.listTokens({ tags: ['to complete'] })
    await other.engine.wait.completeToken(data[0]?.id ?? '', 'yes')
    expect(await printed).toBe('yes\n')
  })
})
