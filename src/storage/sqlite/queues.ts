import { changedSettings, isAsDeclared, limitInForce } from '../../contract/queue-limits.ts'
import { rateInForce } from '../../contract/queue-rates.ts'
import type { QueueSettings, QueueStart, QueueStore, RunClaim } from '../../contract/storage.ts'
import { QUEUE_COLUMNS, queueOfRow, queueValues } from '../../generated/queue-settings.ts'
import { laneOf } from '../sql-rows.ts'
import type { SqliteDatabase } from './database.ts'
import type { Perform } from './session.ts'
import { isStaleAttempt } from './waits.ts'

/** The queues of a SQLite storage. */
export function sqliteQueues(perform: Perform): QueueStore {
  return {
    get: (name, concurrencyKey) =>
      perform(({ database }) => {
        const count = (column: 'slot' | 'reserved'): number =>
          Number(database.value(`SELECT count(*) AS value FROM runs WHERE ${column} = 1 AND queue = ?`, name))
        const settings = settingsOf(database, name) ?? { name, isPaused: false }
        const starts = startsOf(database, laneOf({ queue: name, concurrencyKey }))
        return { ...settings, slots: count('slot'), refused: count('reserved'), starts }
      }, 'read'),
    list: () => perform(({ database }) => queueSettings(database), 'read'),
    set: (change) =>
      perform((session) => {
        if (isStaleAttempt(session, change)) return 'stale'
        const { database, hints } = session
        const { name, by } = change
        const after = changedSettings(settingsOf(database, name), change)
        if (isAsDeclared(after)) database.run('DELETE FROM queues WHERE name = ?', name)
        else
          database.run(
            `INSERT OR REPLACE INTO queues (${QUEUE_COLUMNS}) VALUES (${QUEUE_COLUMNS.replaceAll(/\w+/g, '?')})`,
            ...queueValues(after),
          )
        hints.queue(by)
        return after
      }),
  }
}

/** The limits and rates in force: what is set comes before what a claim says. */
export function allowanceOf(
  database: SqliteDatabase,
  { queueLimits, queueRates }: Pick<RunClaim, 'queueLimits' | 'queueRates'>,
): Pick<RunClaim, 'queueLimits' | 'queueRates'> {
  const queues = queueSettings(database)
  if (queues.length === 0) return { queueLimits, queueRates }
  const [limits, rates] = [new Map(queueLimits), new Map(queueRates)]
  for (const settings of queues) {
    const { name } = settings
    limits.set(name, limitInForce(settings, limits.get(name)) ?? Infinity)
    const rate = rateInForce(settings, rates.get(name))
    if (rate !== undefined) rates.set(name, rate)
  }
  return { queueLimits: limits, queueRates: rates }
}

/** What has started in a lane. */
export function startsOf(database: SqliteDatabase, lane: string): readonly QueueStart[] {
  const text = database.value('SELECT starts AS value FROM queue_starts WHERE lane = ?', lane)
  return text === undefined ? [] : (JSON.parse(String(text)) as readonly QueueStart[])
}

/** Stores what has started in a lane, at least one run; `perMs` after the last of them they are all over. */
export function storeStarts(
  database: SqliteDatabase,
  lane: string,
  { starts, perMs }: { readonly starts: readonly QueueStart[]; readonly perMs: number },
): void {
  const overAt = (starts.at(-1)?.at ?? 0) + perMs
  database.run(
    `INSERT INTO queue_starts (lane, starts, over_at) VALUES (?1, ?2, ?3)
     ON CONFLICT (lane) DO UPDATE SET starts = ?2, over_at = ?3`,
    lane,
    JSON.stringify(starts),
    overAt,
  )
}

/** All queues of which something is set. */
export function queueSettings(database: SqliteDatabase): readonly QueueSettings[] {
  return database.all('SELECT * FROM queues ORDER BY name').map(queueOfRow)
}

function settingsOf(database: SqliteDatabase, name: string): QueueSettings | undefined {
  const row = database.get('SELECT * FROM queues WHERE name = ?', name)
  return row && queueOfRow(row)
}
