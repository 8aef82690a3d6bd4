import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, task } from 'waitpoint'
import { type PostgresOptions, postgresStorage } from 'waitpoint/postgres'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { type TestPool, testPool } from './postgres-schemas.ts'

const RUNS = 20
const say = task({ id: 'say', run: (word: string) => word })

/** An engine on a schema of its own, whose sessions act when a run is inserted, before its commit. */
class Place implements AsyncDisposable {
  readonly admin: TestPool = testPool(2)
  readonly schema: string
  readonly engine: Engine
  readonly #fresh = new FreshSchema()

  constructor(options: Partial<PostgresOptions> = {}) {
    this.schema = this.#fresh.schema
    const place = options.pool === undefined ? { connectionString: this.#fresh.connectionString } : {}
    const storage = postgresStorage({ ...place, schema: this.schema, ...options })
    this.engine = createEngine({ tasks: [say], storage })
  }

  async onInsert(act: string): Promise<void> {
    await this.engine.ready()
    await this.admin.query(`
      CREATE TABLE ${this.schema}.seen AS SELECT statement, generic_plans + custom_plans AS times FROM pg_prepared_statements LIMIT 0;
      CREATE FUNCTION ${this.schema}.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${act}; RETURN NULL; END $$;
      CREATE TRIGGER look AFTER INSERT ON ${this.schema}.runs EXECUTE FUNCTION ${this.schema}.look();`)
  }

  async run(): Promise<void> {
    for (let run = 0; run < RUNS; run += 1)
      expect(await (await this.engine.trigger(say, `word ${run}`)).result()).toBe(`word ${run}`)
  }

  /** The statements that sessions had prepared when a run was inserted, and how often each was executed. */
  async seen(): Promise<readonly { readonly statement: string; readonly times: number }[]> {
    const text = `SELECT statement, max(times)::int AS times FROM ${this.schema}.seen GROUP BY statement`
    return (await this.admin.query(text)).rows as never
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.close()
    await this.admin.end()
    await this.#fresh[Symbol.asyncDispose]()
  }
}

function noting({ schema }: Place): string {
  return `INSERT INTO ${schema}.seen SELECT statement, generic_plans + custom_plans FROM pg_prepared_statements`
}

describe('statements of runs', () => {
  it('are prepared once for each connection that the storage has opened', async () => {
    await using place = new Place()
    await place.onInsert(noting(place))
    await place.run()
    const inserts = (await place.seen()).filter(({ statement }) => statement.includes('.insert_runs('))
    expect(inserts).toHaveLength(1)
    expect(inserts[0]?.times).toBeGreaterThan(1)
  })

  it.each(['pool', 'listen'])(
    'are not where the connections may be shared with other programs: %s',
    async (by) => {
      await using shared = { pool: testPool(), [Symbol.asyncDispose]: () => shared.pool.end() }
      await using place = new Place(by === 'pool' ? { pool: shared.pool } : { listen: false })
      await place.onInsert(noting(place))
      await place.run()
      expect(await place.seen()).toEqual([])
    },
  )

  it('are asked as they are once a connection has lost what it had prepared', async () => {
    await using place = new Place()
    await place.onInsert(`EXECUTE 'DEALLOCATE ALL'`)
    await place.run()
  })

  it('are what they were after a migration has made the functions anew', async () => {
    await using place = new Place()
    await place.engine.ready()
    await place.run()
    const { rows } = await place.admin.query(
      `SELECT string_agg(format('DROP FUNCTION %s; %s;', oid::regprocedure, pg_get_functiondef(oid)), ' ') AS anew
       FROM pg_proc WHERE pronamespace = $1::regnamespace AND proname = 'insert_runs'`,
      [place.schema],
    )
    const [{ anew } = { anew: '' }] = rows as readonly { readonly anew: string }[]
    await place.admin.query(anew)
    await place.run()
  })
})
