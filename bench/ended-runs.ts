import { createEngine, task, wait } from 'waitpoint'
import { ID_DIGITS } from '../src/primitives/id.ts'
import { PostgresBed } from './postgres-bed.ts'

const DAY_MS = 86_400_000
/** Ended runs are spread over the time before now: less than that for which they are kept. */
const SPREAD_MS = 28 * DAY_MS
const TASKS = 10
/** The task of a tenth of the runs. */
export const TASK_ID = 'task-0'
const FILLED = ['runs', 'tokens', 'run_tags'] as const
/** What differs between one run and the next, by its number `n`. Ids are those of engines: the instant, and digits at random. */
const OF_RUN = {
  task: `'task-' || n % ${TASKS}`,
  queue: `'task/task-' || n % ${TASKS}`,
  status: `CASE WHEN n % 1000 = 1 THEN 'CANCELED' WHEN n % 50 = 0 THEN 'FAILED' ELSE 'COMPLETED' END`,
  isRare: 'n % 100 = 0',
  hasKey: 'n % 10 = 0',
} as const
/** The end of an id: its millisecond in ten digits, and sixteen others. A function of the schema takes longer than the row. */
const ID_DIGITS_OF_RUN = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
  .map((place) => `substr('${ID_DIGITS}', ((at::bigint >> ${5 * place}) & 31)::int + 1, 1)`)
  .concat('substr(md5(n::text), 1, 16)')
  .join(' || ')
/** Columns that are instants: as long after the creation of the run as those of the copied one. */
const INSTANTS: ReadonlySet<string> = new Set(
  ['created', 'updated', 'started', 'finished', 'completed', 'ended', 'key_expires', 'timeout'].map(
    (name) => `${name}_at`,
  ),
)

type Row = Readonly<Record<string, unknown>>

/**
 * A schema with so many ended runs: copies of one that an engine has executed, with a wait, a tag that all have, and one that each
 * hundredth has. Each tenth has an idempotency key.
 */
export class EndedRuns {
  readonly bed: PostgresBed = new PostgresBed({ options: '-c maintenance_work_mem=512MB' })
  readonly count: number
  /** The creation of the first run. */
  readonly from: number

  constructor(count: number) {
    this.count = count
    this.from = Date.now() - SPREAD_MS
  }

  /** Fills the schema, as a server has it that has been vacuumed since. */
  async fill(): Promise<void> {
    await this.#executeOne()
    const { pool, schema } = this.bed
    const [run] = await this.#rows('runs')
    const [token] = await this.#rows('tokens')
    if (run === undefined || token === undefined) throw new Error('Cannot copy the run: it has left no rows')
    const indexes = await this.#dropIndexes()
    await this.#copy('runs', run, {
      ...{ seq: `nextval('${schema}.places')`, task_id: OF_RUN.task, status: OF_RUN.status },
      ...{ queue: OF_RUN.queue, lane: OF_RUN.queue },
      tags: `CASE WHEN ${OF_RUN.isRare} THEN '["all","rare"]' ELSE '["all"]' END`,
      tag_list: `CASE WHEN ${OF_RUN.isRare} THEN ARRAY['all', 'rare'] ELSE ARRAY['all'] END`,
      key_scope: `CASE WHEN ${OF_RUN.hasKey} THEN one.key_scope END`,
      key_value: `CASE WHEN ${OF_RUN.hasKey} THEN 'key ' || n END`,
      key_expires_at: `CASE WHEN ${OF_RUN.hasKey} THEN at + 3600000 END`,
    })
    await this.#copy('tokens', token, { seq: `nextval('${schema}.places')` })
    await pool.query(`TRUNCATE ${schema}.run_tags`)
    await pool.query(`INSERT INTO ${schema}.run_tags (tag, run_id)
      SELECT unnest(tag_list), id FROM ${schema}.runs`)
    for (const sql of indexes) await pool.query(sql)
    for (const table of FILLED) await pool.query(`VACUUM ANALYZE ${schema}.${table}`)
  }

  /** The end of the so-manieth run that is still there, the oldest first. */
  async endOf(place: number): Promise<number> {
    const { pool, schema } = this.bed
    const { rows } = await pool.query(
      `SELECT ended_at FROM ${schema}.runs WHERE ended_at IS NOT NULL ORDER BY ended_at LIMIT 1 OFFSET $1`,
      [place],
    )
    const [found] = rows as readonly { readonly ended_at: number }[]
    return found?.ended_at ?? Date.now()
  }

  /** The size of the tables with the runs, and of their indexes. */
  async bytes(): Promise<number> {
    const { rows } = await this.bed.pool.query(
      'SELECT sum(pg_total_relation_size(name::regclass))::float8 AS bytes FROM unnest($1::text[]) AS name',
      [FILLED.map((table) => `${this.bed.schema}.${table}`)],
    )
    const [found] = rows as readonly { readonly bytes: number }[]
    return found?.bytes ?? NaN
  }

  /** Removes what deleted rows have left, as the server does by itself in time. */
  async vacuum(): Promise<void> {
    const { pool, schema } = this.bed
    for (const table of ['runs', 'tokens', 'run_tags', 'waits']) await pool.query(`VACUUM ${schema}.${table}`)
  }

  /** Drops the indexes of the tables that are filled. Returns the statements that make them again: they are sorted faster than kept. */
  async #dropIndexes(): Promise<readonly string[]> {
    const { pool, schema } = this.bed
    const { rows } = await pool.query(
      `SELECT CASE WHEN c.oid IS NULL THEN 'DROP INDEX ' || indexrelid::regclass
           ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', indrelid::regclass, conname) END AS drop,
         CASE WHEN c.oid IS NULL THEN pg_get_indexdef(indexrelid)
           ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', indrelid::regclass, conname, pg_get_constraintdef(c.oid)) END AS make
       FROM pg_index LEFT JOIN pg_constraint c ON c.conindid = indexrelid
       WHERE indrelid = ANY ($1::regclass[]) ORDER BY indexrelid`,
      [FILLED.map((table) => `${schema}.${table}`)],
    )
    const indexes = rows as readonly { readonly drop: string; readonly make: string }[]
    for (const { drop } of indexes) await pool.query(drop)
    return indexes.map(({ make }) => make)
  }

  async #executeOne(): Promise<void> {
    const tokens: string[] = []
    const ask = task({
      id: TASK_ID,
      run: async (_: { readonly doc: string }) => {
        const token = await wait.createToken()
        tokens.push(token.id)
        await wait.forToken(token)
        return { approved: true }
      },
    })
    await using engine = createEngine({ tasks: [ask], storage: this.bed.storage() })
    const run = await engine.trigger(ask, { doc: 'chapter 1' }, { tags: ['all'], idempotencyKey: 'key' })
    while (tokens.length === 0) await new Promise(setImmediate)
    await engine.wait.completeToken(tokens[0] ?? '', { approved: true })
    await run.result()
  }

  async #rows(table: string): Promise<readonly Row[]> {
    const { rows } = await this.bed.pool.query(
      `SELECT to_json(one) AS row FROM ${this.bed.schema}.${table} one`,
    )
    return (rows as readonly { readonly row: Row }[]).map(({ row }) => row)
  }

  /** Copies a row that belongs to a run, for each run there is to be. Where the row names itself or its run, each copy does. */
  async #copy(table: 'runs' | 'tokens', row: Row, own: Readonly<Record<string, string>>): Promise<void> {
    const { pool, schema } = this.bed
    const idOf = (prefix: string): string => `'${prefix}_' || digits`
    const runId = table === 'runs' ? row['id'] : row['run_id']
    const columns = Object.entries(row).map(([name, value]) => {
      if (own[name] !== undefined) return [name, own[name]]
      if (value !== null && value === runId) return [name, idOf('run')]
      if (name === 'id') return [name, idOf('waitpoint')]
      if (INSTANTS.has(name) && value !== null)
        return [name, `at + ${Number(value) - Number(row['created_at'])}`]
      return [name, `one.${name}`]
    })
    await pool.query(
      `INSERT INTO ${schema}.${table} (${columns.map(([name]) => name).join(', ')})
       SELECT ${columns.map(([, sql]) => sql).join(', ')}
       FROM (SELECT n, at, ${ID_DIGITS_OF_RUN} AS digits FROM (
           SELECT n, ${this.from} + floor(n * ${SPREAD_MS / this.count}::float8) AS at
           FROM generate_series(1, ${this.count}) AS n OFFSET 0) AS places OFFSET 0) AS copies,
         (SELECT * FROM ${schema}.${table} WHERE id = $1) AS one`,
      [row['id']],
    )
  }
}
