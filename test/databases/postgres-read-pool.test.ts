import { describe, expect, it } from 'vitest'
import { createEngine, task } from 'waitpoint'
import { type PostgresPool, postgresStorage } from 'waitpoint/postgres'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { testPool } from './postgres-schemas.ts'

type Reader = Pick<PostgresPool, 'query'>

const FUNCTION = /\.(\w+)\(\$1/
const note = task({ id: 'note', run: async (text: string) => text })

describe('readPool', () => {
  it('answers lists of runs and counts, and nothing else', async () => {
    await using fresh = new FreshSchema()
    const { connectionString, schema } = fresh
    const replica = testPool(1, { options: '-c default_transaction_read_only=on' })
    const asked: (string | undefined)[] = []
    const readPool: Reader = {
      query(text, values) {
        asked.push(FUNCTION.exec(text)?.[1])
        return replica.query(text, values)
      },
    }
    await using engine = createEngine({
      tasks: [note],
      storage: postgresStorage({ connectionString, schema, readPool }),
    })
    const run = await engine.trigger(note, 'one')
    await run.result()
    await engine.wait.createToken()
    expect(asked).toEqual([])

    expect((await engine.runs.list({ status: 'COMPLETED' })).data.map(({ id }) => id)).toEqual([run.id])
    expect((await engine.runs.counts()).COMPLETED.count).toBe(1)
    expect((await engine.wait.countTokens()).WAITING.count).toBe(1)
    expect(asked).toEqual(['list_runs', 'count_runs', 'count_tokens'])

    // It settles what is due.
    expect((await engine.wait.listTokens()).data).toHaveLength(1)
    await engine.runs.retrieve(run.id)
    await engine.runs.explain(run.id)
    expect(asked).toHaveLength(3)
    await replica.end()
  })

  it('answers what it knows, which may be from a moment ago', async () => {
    await using fresh = new FreshSchema()
    const { connectionString, schema } = fresh
    await using before = new FreshSchema()
    // A replica that is behind, for ever: another schema.
    const behind = testPool(1)
    const late: Reader = {
      query: (text, values) => behind.query(text.replaceAll(schema, before.schema), values),
    }
    await using other = createEngine({ storage: postgresStorage(before) })
    await other.ready()
    const storage = postgresStorage({ connectionString, schema, readPool: late })
    await using engine = createEngine({ tasks: [note], storage })
    const run = await engine.trigger(note, 'one')
    await run.result()
    expect((await engine.runs.list()).data).toEqual([])
    expect((await engine.runs.retrieve(run.id)).output).toBe('one')
    await behind.end()
  })

  it('is done without when it cannot answer', async () => {
    await using fresh = new FreshSchema()
    const { connectionString, schema } = fresh
    let tries = 0
    const readPool: Reader = {
      query() {
        tries += 1
        return Promise.reject(new Error('canceling statement due to conflict with recovery'))
      },
    }
    await using engine = createEngine({
      tasks: [note],
      storage: postgresStorage({ connectionString, schema, readPool }),
    })
    const run = await engine.trigger(note, 'one')
    await run.result()
    expect((await engine.runs.list()).data.map(({ id }) => id)).toEqual([run.id])
    expect(tries).toBe(1)
  })
})
