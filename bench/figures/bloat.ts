import { createEngine, task, wait } from 'waitpoint'
import { benchRuns } from '../bench-runs.ts'
import { Mailbox } from '../bare/mailbox.ts'
import type { Figure, Lab } from '../lab.ts'
import type { Measurement } from '../measurement.ts'
import { PostgresBed, serveWhile, watchedPool } from '../postgres-bed.ts'

const RUNS = 15_000
const FIRST = 1_000
const AT_ONCE = 1_000
/** Fewer than runs that come at once, so that most stand in line and are claimed. */
const CONCURRENCY = 50
const NS_PER_MS = 1e6
const TABLES = ['runs', 'tokens', 'waits']

/**
 * `off`: as long before the next vacuum of a large table, which comes at 2 % of its rows. `held up`: another transaction keeps its snapshot for all
 * the time, so that no vacuum can remove what was updated.
 */
type Vacuum = 'as usual' | 'off' | 'held up'

/** What a claim reads, and what lies in the tables, when runs have come and gone: also where nothing can be vacuumed. */
export const bloat: Figure = {
  name: 'bloat',
  contests: [],
  measure: (lab) =>
    serveWhile(async () => [
      ...(await measureBloat(lab, 'as usual')),
      ...(await measureBloat(lab, 'off')),
      ...(await measureBloat(lab, 'held up')),
    ]),
}

async function measureBloat(lab: Lab, vacuum: Vacuum): Promise<readonly Measurement[]> {
  const many = lab.count(benchRuns(RUNS))
  const few = Math.min(many, FIRST)
  const reader = new PostgresBed()
  const bed = new BusyBed()
  const holder = await reader.pool.connect()
  try {
    await bed.engine.ready()
    if (vacuum === 'off') {
      for (const table of TABLES)
        await reader.pool.query(`ALTER TABLE ${bed.schema}.${table} SET (autovacuum_enabled = false)`)
    }
    if (vacuum === 'held up') {
      await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await holder.query('SELECT count(*) FROM pg_class')
    }
    const firstMs = await bed.runCrowds(few)
    const early = await bed.explainClaim()
    await bed.runCrowds(Math.max(0, many - 2 * few))
    const lastMs = await bed.runCrowds(few)
    const late = await bed.explainClaim()
    const tick = await bed.explainTick()
    const slots = await bed.explainSlots()
    await bed.close()
    const { updates, hotUpdates, tableBytes, indexBytes } = await readTables(reader, bed.schema)
    const line = (what: string, unit: Measurement['unit'], value: number): Measurement => ({
      what,
      unit,
      count: many,
      ours: { values: [value] },
    })
    return [
      line(`run with a wait, vacuum ${vacuum}, the first ${few}`, 'ns', (firstMs * NS_PER_MS) / few),
      line('  the last as many', 'ns', (lastMs * NS_PER_MS) / few),
      line('  blocks that a claim reads, early', 'count', early),
      line('  blocks that a claim reads, late', 'count', late),
      line('  blocks that a tick reads, late', 'count', tick),
      line('  blocks that a count of the slots of a queue reads, late', 'count', slots),
      line('  updates of rows, for each run', 'count', updates / many),
      line('  of these without its indexes', 'count', hotUpdates / many),
      line('  tables, for each run', 'bytes', tableBytes / many),
      line('  their indexes, for each run', 'bytes', indexBytes / many),
    ]
  } finally {
    // Ends its transaction with it.
    holder.release(true)
    await reader.drop(bed.schema)
    await reader.pool.end()
  }
}

/** An engine that executes runs with a wait, few at a time, and the last claim that it has made. */
class BusyBed {
  readonly #bed = new PostgresBed()
  readonly #mailbox = new Mailbox()
  readonly #ask = task({
    id: 'ask',
    run: async () => {
      const token = await wait.createToken()
      this.#mailbox.say(token.id)
      await wait.forToken(token)
    },
  })
  #claim: readonly [text: string, requests: string] = ['', '']
  #tick: readonly [text: string, requests: string] = ['', '']
  readonly engine = createEngine({
    tasks: [this.#ask],
    concurrency: CONCURRENCY,
    storage: this.#bed.storage(
      watchedPool(this.#bed.pool, (text, [requests]) => {
        if (text.includes('.claim_runs(')) this.#claim = [text, String(requests)]
        if (text.includes('.tick(')) this.#tick = [text, String(requests)]
      }),
    ),
  })

  get schema(): string {
    return this.#bed.schema
  }

  /** Returns the milliseconds that it took. */
  async runCrowds(count: number): Promise<number> {
    const began = performance.now()
    for (let left = count; left > 0; left -= AT_ONCE) {
      const crowd = Array.from({ length: Math.min(left, AT_ONCE) })
      const handles = await Promise.all(crowd.map(() => this.engine.trigger(this.#ask, undefined)))
      const completed: Promise<unknown>[] = []
      for (const _ of crowd) completed.push(this.engine.wait.completeToken(await this.#mailbox.next()))
      await Promise.all(completed)
      await Promise.all(handles.map((handle) => handle.result()))
    }
    return performance.now() - began
  }

  /** The blocks of a claim like the last one, which finds nothing. */
  async explainClaim(): Promise<number> {
    const [text, requests] = this.#claim
    const [request] = JSON.parse(requests) as readonly [{ readonly number: number }]
    return this.#explain(text, [JSON.stringify([{ ...request, number: request.number + 1 }])])
  }

  /** The blocks of the last tick, when it is asked again. */
  async explainTick(): Promise<number> {
    const [text, requests] = this.#tick
    return this.#explain(text, [requests])
  }

  /** The blocks of what a claim asks for each run of a queue with a limit. */
  async explainSlots(): Promise<number> {
    const lane = `task/${this.#ask.id}`
    return this.#explain(`SELECT count(*) FROM ${this.schema}.runs WHERE slot = 1 AND lane = $1`, [lane])
  }

  async #explain(text: string, values: readonly string[]): Promise<number> {
    const client = await this.#bed.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query('SET LOCAL enable_seqscan = off')
      // The first look at rows that are gone marks their entries, where it may.
      await client.query('SAVEPOINT looked')
      await client.query(text, [...values])
      await client.query('ROLLBACK TO looked')
      const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, [...values])
      await client.query('ROLLBACK')
      // The form of EXPLAIN is documented.
      const [explained] = rows as readonly [Explained]
      const { Plan: plan } = explained['QUERY PLAN'][0]
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    } finally {
      client.release()
    }
  }

  /** A connection tells what it has done when it ends. */
  async close(): Promise<void> {
    await this.engine.close()
    await this.#bed.pool.end()
  }
}

interface Explained {
  readonly 'QUERY PLAN': readonly [
    {
      readonly Plan: {
        readonly 'Shared Hit Blocks': number
        readonly 'Shared Read Blocks': number
      }
    },
  ]
}

interface Tables {
  readonly updates: number
  readonly hotUpdates: number
  readonly tableBytes: number
  readonly indexBytes: number
}

async function readTables({ pool }: PostgresBed, schema: string): Promise<Tables> {
  const { rows } = await pool.query(
    `SELECT sum(n_tup_upd)::float8 AS "updates", sum(n_tup_hot_upd)::float8 AS "hotUpdates",
       sum(pg_table_size(relid))::float8 AS "tableBytes", sum(pg_indexes_size(relid))::float8 AS "indexBytes"
     FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = ANY ($2)`,
    [schema, TABLES],
  )
  const [tables] = rows as readonly [Tables]
  return tables
}
