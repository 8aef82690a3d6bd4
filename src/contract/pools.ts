import { limitInForce } from './queue-limits.ts'
import type { RunRecord } from './records.ts'
import type { QueueSettings, RunLimit } from './storage.ts'

/**
 * What has slots: a queue under one concurrency key, a limit over all keys (`total`), or a limit under one key (`perKey`). A run that
 * executes holds a slot in each of its pools.
 */
export interface PoolScope {
  readonly id: string
  /** The name of the queue or the limit. */
  readonly name: string
  readonly counts: 'queue' | keyof RunLimit
}

/** A pool of a limit. */
export interface LimitPool extends PoolScope {
  readonly counts: keyof RunLimit
}

/** The pools of a run besides that of its queue: two of each limit, whatever is declared of it, for that may be another thing later. */
export function limitPools({
  limits = [],
  concurrencyKey,
}: Pick<RunRecord, 'limits' | 'concurrencyKey'>): readonly LimitPool[] {
  return limits.flatMap((name) => [
    { id: `=${name}`, name, counts: 'total' },
    { id: `+${queuePool(name, concurrencyKey)}`, name, counts: 'perKey' },
  ])
}

/** The lane of a run, which names all of its pools. Nearly all runs have one: its id is the name. */
export function laneOfRun(record: Pick<RunRecord, 'queue' | 'concurrencyKey' | 'limits'>): string {
  const pool = queuePool(record.queue, record.concurrencyKey)
  return record.limits === undefined
    ? pool
    : JSON.stringify([pool, ...limitPools(record).map(({ id }) => id)])
}

/** Whether a lane has several pools. */
export function isOfSeveral(lane: string): boolean {
  return lane.startsWith('[')
}

/** The pools that a lane names. */
export function poolsOfLane(lane: string): readonly string[] {
  return isOfSeveral(lane) ? (JSON.parse(lane) as readonly string[]) : [lane]
}

/** The pool of the runs of a queue with this concurrency key. */
export function queuePool(queue: string, concurrencyKey: string | undefined): string {
  // Only a pool with a key begins with a number, which says where the key begins.
  return concurrencyKey === undefined ? `:${queue}` : `${queue.length}:${queue}${concurrencyKey}`
}

/** What is in force of a limit. A limit that is set is that of each key, unless only a total is declared. */
export function runLimitInForce(settings: QueueSettings | undefined, declared: RunLimit = {}): RunLimit {
  const { total, perKey } = declared
  if (settings === undefined) return declared
  if (settings.isPaused) return { total: 0 }
  if (total === undefined || perKey !== undefined) return { total, perKey: limitInForce(settings, perKey) }
  return { total: limitInForce(settings, total) }
}
