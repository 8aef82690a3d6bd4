import { describe, expect, it, onTestFinished } from 'vitest'
import { type AnyTask, createEngine, type Engine, task, wait } from 'waitpoint'
import { type PostgresPool, postgresStorage } from 'waitpoint/postgres'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { testPool } from './postgres-schemas.ts'

/** So long that no engine polls while a test runs. */
const leaseMs = 3_600_000

/** A process of its own, as far as the database can tell, and what it asks. */
class Process implements AsyncDisposable {
  readonly asked: string[] = []
  readonly engine: Engine
  readonly #pool = testPool()

  constructor(schema: string, tasks: readonly AnyTask[], execute = true) {
    const pool: PostgresPool = {
      query: (text, values) => {
        this.asked.push(/\.(\w+)\(\$1/.exec(text)?.[1] ?? /pg_\w+/.exec(text)?.[0] ?? text)
        return this.#pool.query(text, values)
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

function freshSchema(): string {
  const schema = new FreshSchema()
  onTestFinished(() => schema[Symbol.asyncDispose]())
  return schema.schema
}

describe('a wake-up in another process', () => {
  it('is a completion, a notification, and a resume that says what came', async () => {
    const schema = freshSchema()
    let until: readonly string[] = []
    const ask = task({
      id: 'ask',
      run: async (tokenId: string) => {
        const answer = await wait.forToken<string>(tokenId).unwrap()
        until = [...worker.asked]
        return answer
      },
    })
    await using web = new Process(schema, [ask], false)
    await using worker = new Process(schema, [ask])
    await worker.engine.ready()
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
    const schema = freshSchema()
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
