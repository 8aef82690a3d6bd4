import { nextStartAt, withStart } from '../../contract/queue-rates.ts'
import type { QueueRate, QueueStart, RunClaim } from '../../contract/storage.ts'
import type { Row } from '../../contract/columns.ts'
import { allowanceOf, startsOf, storeStarts } from './queues.ts'
import type { SqliteSession } from './session.ts'
import { SUSPECTS } from '../sql-rows.ts'
import { trialAt } from '../../contract/suspects.ts'
import { storable } from './texts.ts'

/** A run that could be claimed. */
export interface Candidate {
  readonly id: string
  readonly seq: number
  readonly taskId: string
  readonly line: number
  readonly lineAt: number
  readonly lane: string
  readonly queue: string
  /** It needs no slot: it holds one still, or has only to be finished. */
  readonly isUnbound: boolean
  /** It is to be called as it was planned, neither interrupted nor resumed. */
  readonly isPlanned: boolean
}

/** The candidates of one task that were read and not looked at yet. */
interface TaskLine {
  readonly taskId: string
  candidates: Candidate[]
  /** The last that was read, while there may be more. */
  last: Pick<Candidate, 'line' | 'lineAt' | 'seq'> | undefined
  hasMore: boolean
}

/** What has started in a lane, some of it by this claim. */
interface LaneStarts {
  readonly starts: readonly QueueStart[]
  readonly perMs: number
}

const QUEUED = 1
const MOST_READ = 200

/** The runs that a claim may take, one after the other: resumed runs before new ones, the oldest first. */
export class ClaimLine {
  readonly #session: SqliteSession
  readonly #claim: RunClaim
  readonly #limits: ReadonlyMap<string, number>
  readonly #rates: ReadonlyMap<string, QueueRate> | undefined
  #tasks: TaskLine[] = []
  /** Slots taken, and reserved by parked runs, by lane. */
  readonly #lanes = new Map<string, { taken: number; readonly reserved: number }>()
  /** Lanes that are full for one of the two lines, as `line lane`: a claim does not walk over runs that cannot start. */
  readonly #full = new Set<string>()
  /** Lanes whose rate lets no run start now, in the same way. */
  readonly #late = new Set<string>()
  /** What has started in the lanes in which this claim starts a run that a rate counts. */
  readonly #starts = new Map<string, LaneStarts>()
  #nextStartAt: number | undefined

  constructor(session: SqliteSession, claim: RunClaim) {
    this.#session = session
    this.#claim = claim
    const { queueLimits, queueRates } = allowanceOf(session.database, claim)
    this.#limits = queueLimits
    this.#rates = queueRates
    this.begin()
  }

  /** Whether runs were passed over because their queue is full. */
  get isHeldBack(): boolean {
    return this.#full.size > 0
  }

  /** When the first of the runs that were passed over because of a rate may start. */
  get nextStartAt(): number | undefined {
    return this.#nextStartAt
  }

  /** Stores what this claim has started in lanes that have a rate. */
  storeStarts(): void {
    for (const [lane, started] of this.#starts) storeStarts(this.#session.database, lane, started)
  }

  /** Looks at everything anew: a slot may have been given back. */
  begin(): void {
    this.#lanes.clear()
    this.#full.clear()
    const taskIds = [...new Set(this.#claim.taskIds)]
    this.#tasks = taskIds.map((taskId) => ({ taskId, candidates: [], last: undefined, hasMore: true }))
  }

  /** Passes over suspects, but for those that may have to end or to be executed alone. */
  passSuspects(): void {
    const { maxInterruptions } = this.#claim
    const line = Math.min(maxInterruptions + 1, trialAt(maxInterruptions)) - SUSPECTS
    for (const task of this.#tasks) {
      const { last } = task
      task.candidates = task.candidates.filter((one) => one.line >= line)
      if (last === undefined || last.line < line)
        task.last = { line, lineAt: Number.MIN_SAFE_INTEGER, seq: 0 }
    }
  }

  /** The next one, which takes its slot with it and is counted if it starts; `wanted` says how many more will be asked for at most. */
  next(wanted: number): Candidate | undefined {
    for (;;) {
      let best: TaskLine | undefined
      for (const task of this.#tasks) {
        if (task.candidates.length === 0 && task.hasMore) this.#read(task, Math.min(wanted, MOST_READ))
        if (task.candidates.length > 0 && (best === undefined || isBefore(task, best))) best = task
      }
      const next = best?.candidates.shift()
      // A trial takes suspects alone, which come first.
      if (next === undefined || (this.#claim.isTrial === true && next.line >= 0)) return undefined
      if (this.#takesSlot(next)) return next
    }
  }

  #takesSlot(next: Candidate): boolean {
    if (next.isUnbound) return true
    const limit = this.#limits.get(next.queue)
    const lane = limit === undefined ? undefined : this.#laneOf(next)
    if (
      lane !== undefined &&
      lane.taken + (next.line === QUEUED ? lane.reserved : 0) >= (limit ?? Infinity)
    ) {
      this.#full.add(placeOf(next))
      return false
    }
    if (!this.#mayStart(next)) return false
    if (lane !== undefined) lane.taken += 1
    return true
  }

  /** Whether the rate of its queue lets it start, if it is one that starts; then the start is counted. */
  #mayStart({ line, lane, queue }: Candidate): boolean {
    const rate = line === QUEUED ? this.#rates?.get(queue) : undefined
    if (rate === undefined) return true
    const place = placeOf({ line, lane })
    if (this.#late.has(place)) return false
    const { now } = this.#claim
    const starts = this.#starts.get(lane)?.starts ?? startsOf(this.#session.database, lane)
    const at = nextStartAt(starts, rate, now)
    if (at > now) {
      this.#late.add(place)
      this.#nextStartAt = Math.min(at, this.#nextStartAt ?? at)
      return false
    }
    this.#starts.set(lane, { starts: withStart(starts, rate, now), perMs: rate.perMs })
    return true
  }

  #laneOf({ lane }: Candidate): { taken: number; readonly reserved: number } {
    const known = this.#lanes.get(lane)
    if (known !== undefined) return known
    const count = (column: 'slot' | 'reserved'): number =>
      Number(
        this.#session.database.value(
          `SELECT count(*) AS value FROM runs WHERE ${column} = 1 AND lane = ?`,
          lane,
        ),
      )
    const counted = { taken: count('slot'), reserved: count('reserved') }
    this.#lanes.set(lane, counted)
    return counted
  }

  #read(task: TaskLine, count: number): void {
    const { last } = task
    const rows = this.#session.database.all(
      `SELECT id, seq, task_id, line, line_at, lane, queue, slot = 1 OR returned = 1 AS unbound,
         returned = 0 AND status IN ('QUEUED', 'DELAYED') AS planned FROM runs
       WHERE task_id = ?1 AND line IS NOT NULL
         AND (?2 IS NULL OR (line, line_at, seq) > (?2, ?3, ?4))
         AND (?5 IS NULL OR slot = 1 OR returned = 1 OR (line || ' ' || lane) NOT IN (SELECT value FROM json_each(?5)))
       ORDER BY line, line_at, seq LIMIT ?6`,
      task.taskId,
      last?.line ?? null,
      last?.lineAt ?? null,
      last?.seq ?? null,
      this.#full.size + this.#late.size === 0 ? null : JSON.stringify([...this.#full, ...this.#late]),
      count,
    )
    task.candidates = rows.map(candidateOf)
    task.last = task.candidates.at(-1)
    task.hasMore = rows.length === count
  }
}

function isBefore({ candidates: [one] }: TaskLine, { candidates: [other] }: TaskLine): boolean {
  if (one === undefined || other === undefined) return other === undefined
  return (one.line - other.line || one.lineAt - other.lineAt || one.seq - other.seq) < 0
}

function candidateOf(row: Row): Candidate {
  return {
    id: row['id'] as string,
    seq: row['seq'] as number,
    taskId: row['task_id'] as string,
    line: row['line'] as number,
    lineAt: row['line_at'] as number,
    lane: row['lane'] as string,
    queue: row['queue'] as string,
    isUnbound: row['unbound'] === 1,
    isPlanned: row['planned'] === 1,
  }
}

/** A line of a lane as the database compares it, where the name of a lane may be escaped. */
function placeOf({ line, lane }: Pick<Candidate, 'line' | 'lane'>): string {
  return `${line} ${String(storable(lane))}`
}
