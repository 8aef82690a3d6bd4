import { type CountRunsParams, createEngine, memoryStorage, type RunStatus, type Storage } from 'waitpoint'
import { sqliteStorage } from 'waitpoint/sqlite'
import type { Contest, Contestant } from '../contest.ts'
import type { Figure } from '../lab.ts'
import type { Measurement } from '../measurement.ts'
import { PostgresBed, serveWhile } from '../postgres-bed.ts'
import { SqliteFiles } from '../sqlite-files.ts'

/** Counts in one pass. There are as many runs as the third power of it: a million, and few in a test. */
const CALLS = 100
const NS_OF_THE_GOAL = 100e6
/** One run in a thousand waits, another one is queued, a third failed. */
const STATUSES: ReadonlyMap<number, RunStatus> = new Map([
  [0, 'WAITING'],
  [1, 'QUEUED'],
  [2, 'FAILED'],
])
const TASKS = 10
const QUEUES = 100

interface Filled {
  readonly storage: Storage
  close(): Promise<void> | void
}

type Place = 'memory' | 'SQLite' | 'Postgres'

const FILL: Readonly<Record<Place, (runs: number) => Promise<Filled>>> = {
  memory: filledMemory,
  SQLite: filledSqlite,
  Postgres: filledPostgres,
}

const contests: readonly Contest<'ours'>[] = (['memory', 'SQLite', 'Postgres'] as const).flatMap((place) => [
  countContest(place, 'of all', {}),
  countContest(place, 'of a tag that all have and a queue', { tag: 'all', queue: 'q7' }),
])

/** The time of the counts that a dashboard shows, of a million runs. */
export const dashboard: Figure = {
  name: 'dashboard',
  contests,
  measure: (lab) =>
    serveWhile(async () => {
      const measurements: Measurement[] = []
      for (const contest of contests) {
        measurements.push({
          what: contest.name,
          unit: 'ns',
          count: lab.count(contest.count),
          ...(await lab.hold(contest)),
          goal: { kind: 'value', most: NS_OF_THE_GOAL },
        })
      }
      return measurements
    }),
}

function countContest(place: Place, which: string, filter: CountRunsParams): Contest<'ours'> {
  return {
    name: `counts of 1,000,000 runs, ${which}, ${place}`,
    count: CALLS,
    rounds: 10,
    warmUps: 3,
    sides: { ours: async (calls) => counting(await FILL[place](calls ** 3), filter, calls) },
  }
}

function counting(filled: Filled, filter: CountRunsParams, calls: number): Contestant {
  const engine = createEngine({ storage: filled.storage, execute: false })
  return {
    pass: async () => {
      for (let call = 0; call < calls; call++) await engine.runs.counts(filter)
    },
    async close() {
      await engine.close()
      await filled.close()
    },
  }
}

async function filledMemory(runs: number): Promise<Filled> {
  const storage = memoryStorage()
  for (let at = 0; at < runs; at++) {
    const id = `run_${String(at).padStart(26, '0')}`
    const record = {
      ...{ id, rootId: id, taskId: `t${at % TASKS}`, status: statusOf(at), queue: `q${at % QUEUES}` },
      ...{ attempt: 0, policyAttempt: 0, interruptions: 0, epoch: 0, slot: false, returned: false },
      ...{ tags: ['all'], streams: [], createdAt: at, updatedAt: at },
    }
    await storage.runs.insert({ record, now: at, by: 'bench' })
  }
  return { storage, close: () => undefined }
}

function statusOf(at: number): RunStatus {
  return STATUSES.get(at % 1_000) ?? 'COMPLETED'
}

const ZEROS = '0'.repeat(26)

/** The columns that a run must have, as those of the run of number `n`, on both databases. */
const COLUMNS = {
  id: `'run_' || substr('${ZEROS}' || n, length('${ZEROS}' || n) - 25)`,
  root_id: `'run_'`,
  seq: 'n + 1',
  task_id: `'t' || (n % ${TASKS})`,
  status: `CASE n % 1000 WHEN 0 THEN 'WAITING' WHEN 1 THEN 'QUEUED' WHEN 2 THEN 'FAILED' ELSE 'COMPLETED' END`,
  queue: `'q' || (n % ${QUEUES})`,
  lane: `'q' || (n % ${QUEUES})`,
  ...{ attempt: '0', policy_attempt: '0', interruptions: '0', epoch: '0', slot: '0', returned: '0' },
  ...{ held: '0', reserved: '0', created_at: 'n', updated_at: 'n', tags: `'["all"]'` },
} as const

/** Statements that store so many runs with their tag. */
function fillSql(
  runs: number,
  {
    schema = '',
    columns,
    tagged,
  }: { schema?: string; columns: Readonly<Record<string, string>>; tagged: string },
): readonly string[] {
  const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${runs - 1})`
  const [names, values] = [Object.keys(columns), Object.values(columns)]
  return [
    `INSERT INTO ${schema}runs (${names.join(', ')}) ${numbers} SELECT ${values.join(', ')} FROM numbers`,
    `INSERT INTO ${schema}run_tags (tag, ${tagged}) SELECT 'all', id FROM ${schema}runs`,
  ]
}

async function filledSqlite(runs: number): Promise<Filled> {
  const files = new SqliteFiles()
  const handle = files.open()
  await migrated(sqliteStorage(handle))
  for (const sql of fillSql(runs, { columns: COLUMNS, tagged: 'run' })) handle.exec(sql)
  return { storage: sqliteStorage(handle), close: () => files.close() }
}

async function filledPostgres(runs: number): Promise<Filled> {
  const bed = new PostgresBed()
  await migrated(bed.storage())
  const schema = `${bed.schema}.`
  const columns = { ...COLUMNS, tag_list: `ARRAY['all']` }
  for (const sql of fillSql(runs, { schema, columns, tagged: 'run_id' })) await bed.pool.query(sql)
  await bed.pool.query(`VACUUM ANALYZE ${schema}runs`)
  await bed.pool.query(`VACUUM ANALYZE ${schema}run_tags`)
  return { storage: bed.storage(), close: () => bed.close() }
}

/** Makes the tables. */
async function migrated(storage: Storage): Promise<void> {
  const engine = createEngine({ storage, execute: false })
  await engine.ready()
  await engine.close()
}
