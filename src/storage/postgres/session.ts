import type { RunRecord, WaitRecord } from '../../contract/records.ts'
import type { RunUpdated } from '../../contract/storage.ts'
import type { HintCollector } from './hints.ts'
import type { CallKind } from './turns.ts'
import type { Value } from '../../contract/columns.ts'
import { runOfValues } from '../../generated/run-record.ts'

/** The tools that the stores of one schema share. */
export interface PostgresSession {
  readonly schema: string
  /** Asks a function of the schema; resolves with its answer once that is committed. */
  readonly ask: Ask
  readonly hints: HintCollector
  /** Whether that is the place of the schema (see `placeSql`). */
  readonly isAt: (place: string) => Promise<boolean>
  /** A name for one call, by which it is known if its answer is lost. */
  readonly newCall: () => string
  /** Notes queues that have a limit, as a claim or a resume reported them. */
  readonly learnLimits: (queues: Iterable<string>) => void
}

/** `key`: calls with one key are executed in the order in which they were made. */
export type Ask = (kind: CallKind, request: object | string, key?: string) => Promise<unknown>

/** A run as the functions answer it: `RUN_COLUMNS`. */
export type RunAnswer = readonly Value[]

/** A wait that became ready: its run, its owner, and whether the run has no living owner, so that it can be claimed. */
export type ReadyAnswer = readonly (readonly [runId: string, owner: string, isOrphan?: boolean])[] | null

/** A run that ended, and the waits for it. */
export type EndAnswer = readonly [run: RunAnswer, ready: ReadyAnswer]

const NONE: readonly WaitRecord[] = []

export function runOf(answer: RunAnswer): RunRecord {
  return runOfValues(answer)
}

/** The waits for a token that was settled, told to the engines that hold their runs. */
export function readyWaits(
  hints: HintCollector,
  ready: ReadyAnswer | undefined,
  { tokenId, by }: { readonly tokenId: string; readonly by: string | undefined },
): readonly WaitRecord[] {
  if (!ready) return NONE
  return ready.map(([runId, owner, isOrphan]) => {
    // The caller is told as well: nothing else in its answer says that there is a run to claim.
    if (isOrphan === true) hints.queue(undefined)
    else hints.waits(owner, by, runId)
    return { tokenId, runId, owner }
  })
}

/** A run that ended, told to the engines that hold the runs that wait for it. */
export function endedRun(hints: HintCollector, [values, ready]: EndAnswer, by: string): RunUpdated {
  const record = runOf(values)
  tellEnded(hints, record, by)
  return { record, ready: readyWaits(hints, ready, { tokenId: `run:${record.id}`, by }) }
}

function tellEnded(hints: HintCollector, record: RunRecord, by: string): void {
  hints.run(record.id, by)
  hints.freed(record.queue, by)
  for (const key of record.streams) hints.stream(record.id, key, by)
}
