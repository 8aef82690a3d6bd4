import type { Row } from '../contract/columns.ts'
import type { LeaseRecord } from '../contract/storage.ts'
import { LEASE_COLUMNS, leaseOfRow } from '../generated/lease-record.ts'

/** The records of a storage in a database, looked at from outside: nothing is written, and no schema is changed. */
export interface StorageInspection {
  /** The schema of the database; without a version there are no tables. */
  readonly schema: SchemaVersion
  /** Whether this user may change the records. */
  readonly mayWrite: boolean
  /** The time at the storage. */
  readonly now: number
  /** Parts of the database with their size in bytes. */
  readonly sizes: Readonly<Record<string, number>>
  /** Damage that the database itself has found. */
  readonly damage: readonly string[]
  /** Absent where the schema is not that of this version. */
  readonly records?: InspectedRecords
}

/** The version of a schema, and the one that this code reads and writes. */
export interface SchemaVersion {
  readonly version: number | undefined
  readonly known: number
}

/** Counts, and the records that stand out. */
export interface InspectedRecords {
  readonly runs: Readonly<Record<string, number>>
  readonly tokens: Readonly<Record<string, number>>
  readonly oldestWaiting?: InspectedToken
  /** Tokens and sleeps whose deadline has passed, and that no engine has settled. */
  readonly overdue: number
  readonly owners: readonly InspectedOwner[]
  /** Runs that executed when their engine went, and that no engine has taken over. */
  readonly interrupted: number
  readonly oldestInLine?: InspectedInLine
  /** Ended runs and tokens that are older than `keptMs`. Some of them may have to stay. */
  readonly prunable: number
  /** The last change of a run. */
  readonly changedAt?: number
}

export interface InspectedToken {
  readonly id: string
  readonly runId?: string
  readonly createdAt: number
  readonly timeoutAt?: number
}

/** The lease of an engine. */
export interface InspectedOwner extends Pick<LeaseRecord, 'owner' | 'until' | 'isLost'> {
  /** Its process is not there any more. Absent where that cannot be told. */
  readonly isGone?: boolean
  readonly runs: number
}

export interface InspectedInLine {
  readonly id: string
  readonly taskId: string
  readonly since: number
}

/** One row of an answer. */
export type InspectedRow = Readonly<Record<string, unknown>>

/** Asks the database something. `$s.` stands in front of the name of each table. */
export type InspectionQuery = (sql: string) => Promise<readonly InspectedRow[]>

/** Reads what the tables of both databases have in common. */
export async function inspectRecords(
  ask: InspectionQuery,
  { now, keptMs }: { readonly now: number; readonly keptMs: number },
): Promise<InspectedRecords> {
  const number = async (sql: string): Promise<number> => Number((await ask(sql))[0]?.['value'] ?? 0)
  const counts = async (sql: string): Promise<Record<string, number>> =>
    Object.fromEntries((await ask(sql)).map((row) => [String(row['status']), Number(row['count'])]))
  const before = now - keptMs
  const [waiting] = await ask(
    `SELECT id, run_id, created_at, timeout_at FROM $s.tokens WHERE kind = 'MANUAL' AND status = 'WAITING'
     ORDER BY created_at, id LIMIT 1`,
  )
  const [inLine] = await ask(
    `SELECT id, task_id, line_at + coalesce(priority_ms, 0) AS since FROM $s.runs
     WHERE line IS NOT NULL AND line_at + coalesce(priority_ms, 0) <= ${now} ORDER BY since, id LIMIT 1`,
  )
  const changedAt = await number('SELECT max(updated_at) AS value FROM $s.runs')
  return {
    runs: await counts('SELECT status, count(*) AS count FROM $s.runs GROUP BY status'),
    tokens: await counts(
      `SELECT status, count(*) AS count FROM $s.tokens WHERE kind = 'MANUAL' GROUP BY status`,
    ),
    ...(waiting === undefined ? {} : { oldestWaiting: inspectedToken(waiting) }),
    overdue: await number(`SELECT count(*) AS value FROM $s.tokens WHERE due_at <= ${now}`),
    owners: await inspectOwners(ask),
    interrupted: await number(
      `SELECT count(*) AS value FROM $s.runs WHERE status = 'EXECUTING' AND held = 0 AND returned = 0`,
    ),
    ...(inLine === undefined ? {} : { oldestInLine: inspectedInLine(inLine) }),
    prunable:
      (await number(`SELECT count(*) AS value FROM $s.runs WHERE ended_at < ${before}`)) +
      (await number(`SELECT count(*) AS value FROM $s.tokens WHERE ended_at < ${before}`)),
    ...(changedAt === 0 ? {} : { changedAt }),
  }
}

async function inspectOwners(ask: InspectionQuery): Promise<readonly InspectedOwner[]> {
  const rows = await ask(
    `SELECT ${LEASE_COLUMNS},
       (SELECT count(*) FROM $s.runs WHERE runs.owner = owners.owner AND held = 1) AS held
     FROM $s.owners ORDER BY owner DESC LIMIT 100`,
  )
  return rows.map((row) => {
    // The columns are those of the table.
    const { owner, until, isLost } = leaseOfRow(row as Row)
    return { owner, until, isLost, runs: Number(row['held']) }
  })
}

function inspectedToken(row: InspectedRow): InspectedToken {
  return {
    id: String(row['id']),
    ...(typeof row['run_id'] === 'string' ? { runId: row['run_id'] } : {}),
    createdAt: Number(row['created_at']),
    ...(row['timeout_at'] === null ? {} : { timeoutAt: Number(row['timeout_at']) }),
  }
}

function inspectedInLine(row: InspectedRow): InspectedInLine {
  return { id: String(row['id']), taskId: String(row['task_id']), since: Number(row['since']) }
}
