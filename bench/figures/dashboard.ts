import {
  type CountRunsParams,
  createEngine,
  memoryStorage,
  type RunRecord,
  type RunStatus,
  type Storage,
  type TokenRecord,
} from 'waitpoint'
import { createConsole } from 'waitpoint/console'
import { sqliteStorage } from 'waitpoint/sqlite'
import type { Contest, Contestant } from '../contest.ts'
import type { Figure } from '../lab.ts'
import type { Measurement } from '../measurement.ts'
import { PostgresBed, serveWhile } from '../postgres-bed.ts'
import { SqliteFiles } from '../sqlite-files.ts'

/** Counts in one pass. There are as many runs as the third power of it: a million, and few in a test. */
const CALLS = 100
const NS_OF_THE_GOAL = 100e6
/** The year 2100. */
const NEVER = 4_102_444_800_000
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
type Noun = 'run' | 'token'

/** Stores so many runs, or so many tokens. */
type Fill = (noun: Noun, many: number) => Promise<Filled>

const FILL: Readonly<Record<Place, Fill>> = {
  memory: filledMemory,
  SQLite: filledSqlite,
  Postgres: filledPostgres,
}

const contests: readonly Contest<'ours'>[] = (['memory', 'SQLite', 'Postgres'] as const).flatMap((place) => [
  countContest(place, 'of all', {}),
  countContest(place, 'of a tag that all have and a queue', { tag: 'all', queue: 'q7' }),
  pageContest(place, 'all runs', '/runs'),
  pageContest(place, 'runs that failed, of a tag that all have', '/runs?status=FAILED&tag=all'),
  pageContest(place, 'tokens that wait', '/tokens'),
  pageContest(place, 'tokens of a tag that all have', '/tokens?tag=all&status=all'),
])

/** The time of the counts that a dashboard shows, and of pages of the console, of a million runs and tokens. */
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
    sides: { ours: async (calls) => counting(await FILL[place]('run', calls ** 3), filter, calls) },
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

function pageContest(place: Place, which: string, path: string): Contest<'ours'> {
  const noun = path.startsWith('/runs') ? 'run' : 'token'
  return {
    name: `console page of ${which}, of 1,000,000, ${place}`,
    count: CALLS,
    rounds: 5,
    warmUps: 2,
    sides: { ours: async (calls) => showing(await FILL[place](noun, calls ** 3), path, calls) },
  }
}

function showing(filled: Filled, path: string, calls: number): Contestant {
  const engine = createEngine({ storage: filled.storage, execute: false })
  const handler = createConsole(engine, { authorize: () => true })
  return {
    pass: async () => {
      for (let call = 0; call < calls; call++) {
        const answer = await handler(new Request(`http://localhost${path}`))
        const text = await answer.text()
        if (answer.status !== 200) throw new Error(`Cannot measure ${path}: ${text}`)
      }
    },
    async close() {
      await engine.close()
      await filled.close()
    },
  }
}

async function filledMemory(noun: Noun, many: number): Promise<Filled> {
  const storage = memoryStorage()
  for (let at = 0; at < many; at++) {
    if (noun === 'run') await storage.runs.insert({ record: runOf(at), now: at, by: 'bench' })
    else await storage.tokens.insert({ record: tokenOf(at), now: at, by: 'bench' })
  }
  return { storage, close: () => undefined }
}

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

/** The id that an engine could have made at an instant: ten digits say that. */
function idOf(prefix: string, at: number): string {
  const instant = Array.from({ length: 10 }, (_, place) => DIGITS[Math.floor(at / 32 ** (9 - place)) % 32])
  return `${prefix}_${instant.join('')}${'0'.repeat(16)}`
}

function runOf(at: number): RunRecord {
  const id = idOf('run', at)
  return {
    ...{ id, rootId: id, taskId: `t${at % TASKS}`, status: statusOf(at), queue: `q${at % QUEUES}` },
    ...{ attempt: 0, policyAttempt: 0, interruptions: 0, epoch: 0, slot: false, returned: false },
    ...{ tags: ['all'], streams: [], createdAt: at, updatedAt: at },
  }
}

function tokenOf(at: number): TokenRecord {
  const ended = { status: 'COMPLETED', completedAt: at } as const
  return {
    ...{ id: idOf('waitpoint', at), kind: 'MANUAL', tags: ['all'], createdAt: at },
    ...(at % 1_000 === 0 ? { status: 'WAITING', timeoutAt: NEVER } : ended),
  }
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

/** The columns that a token must have, as those of the token of number `n`, on both databases. */
const TOKEN_COLUMNS = {
  id: `'waitpoint_' || substr('${ZEROS}' || n, length('${ZEROS}' || n) - 25)`,
  ...{ seq: 'n + 1', kind: `'MANUAL'`, created_at: 'n', tags: `'["all"]'` },
  status: `CASE n % 1000 WHEN 0 THEN 'WAITING' ELSE 'COMPLETED' END`,
  timeout_at: `CASE n % 1000 WHEN 0 THEN ${NEVER} END`,
  due_at: `CASE n % 1000 WHEN 0 THEN ${NEVER} END`,
} as const

const TABLES = { run: COLUMNS, token: TOKEN_COLUMNS } as const

/** Statements that store so many records with their tag. */
function fillSql(
  noun: Noun,
  many: number,
  { schema = '', id, more = {} }: { schema?: string; id: string; more?: Readonly<Record<string, string>> },
): readonly string[] {
  const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${many - 1})`
  const columns = { ...TABLES[noun], ...more }
  const [names, values] = [Object.keys(columns), Object.values(columns)]
  return [
    `INSERT INTO ${schema}${noun}s (${names.join(', ')}) ${numbers} SELECT ${values.join(', ')} FROM numbers`,
    `INSERT INTO ${schema}${noun}_tags (tag, ${id}) SELECT 'all', id FROM ${schema}${noun}s`,
  ]
}

async function filledSqlite(noun: Noun, many: number): Promise<Filled> {
  const files = new SqliteFiles()
  const handle = files.open()
  await migrated(sqliteStorage(handle))
  for (const sql of fillSql(noun, many, { id: noun })) handle.exec(sql)
  return { storage: sqliteStorage(handle), close: () => files.close() }
}

async function filledPostgres(noun: Noun, many: number): Promise<Filled> {
  const bed = new PostgresBed()
  await migrated(bed.storage())
  const schema = `${bed.schema}.`
  const more = { tag_list: `ARRAY['all']` }
  for (const sql of fillSql(noun, many, { schema, id: `${noun}_id`, more })) await bed.pool.query(sql)
  await bed.pool.query(`VACUUM ANALYZE ${schema}${noun}s`)
  await bed.pool.query(`VACUUM ANALYZE ${schema}${noun}_tags`)
  return { storage: bed.storage(), close: () => bed.close() }
}

/** Makes the tables. */
async function migrated(storage: Storage): Promise<void> {
  const engine = createEngine({ storage, execute: false })
  await engine.ready()
  await engine.close()
}
