import { describe, expect, it, onTestFinished } from 'vitest'
import { type AnyTask, createEngine, type Engine, task, wait } from 'waitpoint'
import { type PostgresPool, postgresStorage } from 'waitpoint/postgres'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { schemaOfTest } from './postgres/fresh-schema.ts'
import { testPool } from './postgres-schemas.ts'

/** So long that no engine polls while a test runs. */
const leaseMs = 3_600_000

/** A process of its own, as far as the database can tell, and what it asks. */
class Process implements AsyncDisposable {
  readonly asked: string[] = []
  readonly answered: string[] = []
  readonly engine: Engine
  readonly #pool = testPool()

  constructor(schema: string, tasks: readonly AnyTask[], execute = true) {
    const pool: PostgresPool = {
      query: async (text, values) => {
        const name = /\.(\w+)\(\$1/.exec(text)?.[1] ?? /pg_\w+/.exec(text)?.[0] ?? text
        this.asked.push(name)
        const answer = await this.#pool.query(text, values)
        this.answered.push(name)
        return answer
      },
      connect: () => this.#pool.connect(),
    }
    this.engine = createEngine({ tasks, execute, leaseMs, storage: postgresStorage({ pool, schema }) })
  }

  async untilWaiting(runId: string): Promise<void> {
    while ((await this.engine.runs.retrieve(runId)).status !== 'WAITING') await pauseReal(5)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.close()
    await this.#pool.end()
  }
}

/**
 * A worker that another process has joined already. To the first one that joins it, and to no other, it tells that anything may have
 * changed: that one looks once more, at any time.
 */
async function joinedWorker(schema: string, task: AnyTask): Promise<Process> {
  const [worker, other] = [new Process(schema, [task]), new Process(schema, [task], false)]
  for (const process of [other, worker]) onTestFinished(() => process[Symbol.asyncDispose]())
  await worker.engine.ready()
  const before = worker.answered.length
  await other.engine.ready()
  while (!worker.answered.slice(before).includes('pg_notify')) await pauseReal(5)
  return worker
}

describe('a wake-up in another process', () => {
  it('is a completion, a notification, and a resume that says what came', async () => {
    const schema = schemaOfTest()
    let until: readonly string[] = []
    const ask = task({
      id: 'ask',
      run: async (tokenId: string) => {
        const answer = await wait.forToken<string>(tokenId).unwrap()
        until = [...worker.asked]
        return answer
      },
    })
    const worker = await joinedWorker(schema, ask)
    await using web = new Process(schema, [ask], false)
    const token = await web.engine.wait.createToken()
    const run = await web.engine.trigger(ask, token.id)
    await web.untilWaiting(run.id)
    const [askedHere, askedThere] = [web.asked.length, worker.asked.length]
    await web.engine.wait.completeToken(token, 'yes')
    expect(await run.result()).toBe('yes')
    expect(web.asked.slice(askedHere, askedHere + 2)).toEqual(['settle_tokens', 'pg_notify'])
    expect(until.slice(askedThere).filter((asked) => asked !== 'pg_notify')).toEqual(['resume_runs'])
  })

  it('of many runs takes no tick either', async () => {
    const schema = schemaOfTest()
    const ask = task({ id: 'ask', run: (tokenId: string) => wait.forToken<number>(tokenId).unwrap() })
    await using web = new Process(schema, [ask], false)
    await using worker = new Process(schema, [ask])
    await worker.engine.ready()
    const tokens = await Promise.all(Array.from({ length: 300 }, () => web.engine.wait.createToken()))
    const runs = await Promise.all(tokens.map(({ id }) => web.engine.trigger(ask, id)))
    for (const { id } of runs) await web.untilWaiting(id)
    const before = worker.asked.length
    await Promise.all(tokens.map((token, at) => web.engine.wait.completeToken(token, at)))
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(tokens.map((_, at) => at))
    expect(worker.asked.slice(before)).not.toContain('get_tokens')
    expect(worker.asked.slice(before)).not.toContain('tick')
  })
})

describe('a new run', () => {
  const WORKERS = 6
  const RUNS = 24

  it('is asked for by one process, and not by all that hear of it', async () => {
    const schema = schemaOfTest()
    const say = task({ id: 'say', run: (word: string) => word })
    await using web = new Process(schema, [say], false)
    const workers = Array.from({ length: WORKERS }, () => new Process(schema, [say]))
    for (const worker of workers) onTestFinished(() => worker[Symbol.asyncDispose]())
    for (const { engine } of workers) await engine.ready()
    const one = async (): Promise<void> => {
      expect(await (await web.engine.trigger(say, 'hello')).result()).toBe('hello')
    }
    const claims = (): number =>
      workers.flatMap(({ asked }) => asked.filter((name) => name === 'claim_runs')).length
    for (let run = 0; run < RUNS; run++) await one()
    const before = claims()
    for (let run = 0; run < RUNS; run++) await one()
    // All of them would be one for each worker; a machine with other work sees some of these.
    expect(claims() - before).toBeLessThan((RUNS * WORKERS) / 2)
  })

  it('is claimed by another process if the one that is to come first does not', async () => {
    const schema = schemaOfTest()
    const say = task({ id: 'say', run: (word: string) => word })
    const other = task({ id: 'other', run: () => 'done' })
    await using web = new Process(schema, [say, other], false)
    const first = new Process(schema, [say])
    await first.engine.ready()
    expect(await (await web.engine.trigger(say, 'one')).result()).toBe('one')
    await first[Symbol.asyncDispose]()
    await using second = new Process(schema, [say, other])
    await second.engine.ready()
    // From then on it is told of everything and asks for nothing by itself.
    expect(await (await web.engine.trigger(other, undefined)).result()).toBe('done')
    expect(await (await web.engine.trigger(say, 'two')).result()).toBe('two')
  })

  it('is read once by who waits for its end', async () => {
    const schema = schemaOfTest()
    const ask = task({ id: 'ask', run: (tokenId: string) => wait.forToken<string>(tokenId).unwrap() })
    const worker = await joinedWorker(schema, ask)
    await using web = new Process(schema, [ask], false)
    const token = await worker.engine.wait.createToken()
    const run = await web.engine.trigger(ask, token.id)
    const result = run.result()
    await worker.untilWaiting(run.id)
    while (!web.answered.includes('get_runs')) await pauseReal(5)
    await worker.engine.wait.completeToken(token, 'yes')
    expect(await result).toBe('yes')
    expect(web.asked.filter((name) => name === 'get_runs')).toHaveLength(2)
  })
})

describe('a slot of a queue whose limit was set while engines ran', () => {
  it('goes to a run of another process at once, also if it was held in a process that came later', async () => {
    const schema = schemaOfTest()
    const goOn = createDeferred<void>()
    const held = task({ id: 'held', queue: { name: 'desk' }, run: () => goOn.promise })
    const next = task({ id: 'next', queue: { name: 'desk' }, run: () => 'done' })
    await using first = new Process(schema, [next])
    await first.engine.queue('desk').setLimit(1)
    await using second = new Process(schema, [held])
    const run = await second.engine.trigger(held, undefined)
    while ((await second.engine.runs.retrieve(run.id)).status !== 'EXECUTING') await pauseReal(5)
    const before = first.answered.length
    const waiting = await first.engine.trigger(next, undefined)
    while (!first.answered.slice(before).includes('claim_runs')) await pauseReal(5)
    goOn.resolve()
    expect(await waiting.result()).toBe('done')
  })
})
