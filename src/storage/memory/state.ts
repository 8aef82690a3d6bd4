import type { RunRecord } from '../../contract/records.ts'
import type { AttemptFence } from '../../contract/storage.ts'
import { EndedEntries } from './ended-entries.ts'
import { HintBoard } from '../hint-board.ts'
import { Leases } from './leases.ts'
import { QueueBook } from './queue-book.ts'
import { type RunEntry, type WaitSource } from './entries.ts'
import { RunLanes } from './run-lanes.ts'
import { RunLedger } from './run-ledger.ts'
import { RunSchedule } from './run-schedule.ts'
import { TokenLedger } from './token-ledger.ts'
import { WaitBook } from './wait-book.ts'
import { RUN_PREFIX, isAttempted } from '../../contract/run-states.ts'

/** The state that the stores of one memory storage share. */
export interface MemoryState {
  readonly runs: RunLedger
  readonly tokens: TokenLedger
  readonly waits: WaitBook
  readonly lanes: RunLanes
  readonly schedule: RunSchedule
  readonly leases: Leases
  readonly ended: EndedEntries
  readonly hints: HintBoard
  readonly queues: QueueBook
  /** How far schedules have got, by the scopes of their keys. */
  readonly marks: Map<string, number>
}

export function memoryState(): MemoryState {
  const hints = new HintBoard()
  const leases = new Leases()
  const ended = new EndedEntries((id) => runs.table.get(id))
  const lanes = new RunLanes()
  const schedule = new RunSchedule(lanes)
  const waits = new WaitBook({ schedule, hints })
  const runs: RunLedger = new RunLedger({ lanes, schedule, waits, ended, hints })
  const tokens = new TokenLedger({ waits, ended, hints })
  return {
    runs,
    tokens,
    waits,
    lanes,
    schedule,
    leases,
    ended,
    hints,
    queues: new QueueBook(),
    marks: new Map(),
  }
}

/** A method that tells its hints once it is done. */
export function telling<Request, Answer>(
  state: MemoryState,
  perform: (state: MemoryState, request: Request) => Answer,
): (request: Request) => Answer {
  return (request) => {
    const answer = perform(state, request)
    state.hints.flush()
    return answer
  }
}

/** Finds the token of an id; for `run:<id>` that run. */
export function waitSource({ runs, tokens }: MemoryState, tokenId: string): WaitSource | undefined {
  if (tokenId.startsWith(RUN_PREFIX)) return runs.table.get(tokenId.slice(RUN_PREFIX.length))
  return tokens.table.get(tokenId)
}

/** The run, if the attempt that says so still holds it. */
export function fencedRun(
  { runs }: MemoryState,
  fence: { readonly id: string; readonly epoch: number; readonly by: string },
): RunEntry | undefined {
  const run = runs.table.get(fence.id)
  return run !== undefined && isHeldBy(run.record, fence.epoch, fence.by) ? run : undefined
}

/** Whether the attempt that writes no longer holds its run. */
export function isStale(
  { runs }: MemoryState,
  { fence, by }: { readonly fence?: AttemptFence | undefined; readonly by: string },
): boolean {
  if (fence === undefined) return false
  const run = runs.table.get(fence.runId)
  return run === undefined || !isHeldBy(run.record, fence.epoch, by)
}

function isHeldBy({ epoch, owner, status }: RunRecord, expected: number, by: string): boolean {
  return epoch === expected && owner === by && isAttempted(status)
}

/** Runs of owners that are gone at `now` become claimable. */
export function expireLeases(
  { leases, runs }: MemoryState,
  act: { readonly now: number; readonly by: string },
): void {
  for (const lease of leases.expire(act.now)) {
    const held = runs.heldBy(lease)
    lease.executing = held.filter(({ record }) => record.status === 'EXECUTING').length
    runs.abandon(held, act)
  }
}
