import type { RunRecord, RunStatus } from '../../contract/records.ts'
import { storedError } from '../../api/serialize.ts'
import type { Course, CourseEnd } from './course.ts'
import { type InFlightQuestion, questionText } from './question.ts'

/**
 * - `unknown-task`: there is no such task. The run stays as it is.
 * - `version`: it began on other code and has asked waits without names. It becomes `PENDING_VERSION`.
 * - `question`: the new code asks something else at a place, or equal questions that cannot be told apart. It becomes
 *   `PENDING_VERSION`.
 * - `new-question`: the new code asks something before its wait that the storage does not have. It is asked.
 * - `effect`: the new code calls `once` before its wait, without a stored result. The effect happens.
 * - `not-asked`: the new code waits, but not for this. An answer to it reaches no code.
 * - `returned`, `failed`: the function ends before its wait.
 * - `unreached`: the function did not come to its wait in time.
 */
export type DepartureReason =
  | 'unknown-task'
  | 'version'
  | 'question'
  | 'new-question'
  | 'effect'
  | 'not-asked'
  | 'returned'
  | 'failed'
  | 'unreached'

/** A run that the new code does not fit. */
export interface InFlightDeparture {
  readonly runId: string
  readonly taskId: string
  readonly status: RunStatus
  /** The version that the run began on. */
  readonly version: string | undefined
  readonly reason: DepartureReason
  /** The departure in one sentence. */
  readonly message: string
  /** What the run asked before, and would not get to. */
  readonly expected?: InFlightQuestion
  /** What the new code asks instead. */
  readonly asked?: InFlightQuestion
}

type Details = Omit<InFlightDeparture, 'runId' | 'taskId' | 'status' | 'version'>

export function departure(
  { id: runId, taskId, status, version }: RunRecord,
  details: Details,
): InFlightDeparture {
  return { runId, taskId, status, version, ...details }
}

/** What the end of a course says of its run; nothing if the run has come to its wait and nothing came before. */
export function departureOf(
  record: RunRecord,
  {
    course,
    end,
    patienceMs,
  }: { readonly course: Course; readonly end: CourseEnd; readonly patienceMs: number },
): InFlightDeparture | undefined {
  const { expected, detour } = course
  const who = `run "${record.id}" of task "${record.taskId}"`
  const goal = expected === undefined ? 'it comes to its wait' : `it comes to ${questionText(expected)}`
  const known = expected === undefined ? {} : { expected }
  const tell = (reason: DepartureReason, message: string, asked?: InFlightQuestion): InFlightDeparture =>
    departure(record, { reason, message, ...known, ...(asked === undefined ? {} : { asked }) })

  // A run that was executing may have been on its way to something new: only one that waits has asked everything.
  if (end.kind === 'reached' && record.status !== 'WAITING') return undefined
  if (end.kind === 'stood still') return tell('question', storedError(end.errorJson).message)
  if (end.kind === 'failed')
    return tell(
      'failed',
      `Cannot go on with ${who}: it fails before ${goal}: ${storedError(end.errorJson).message}`,
    )
  if (end.kind === 'returned') return tell('returned', `Cannot go on with ${who}: it returns before ${goal}`)
  if (detour?.call === 'once')
    return tell(
      'effect',
      `Cannot go on with ${who}: it would execute ${questionText(detour)} before ${goal}`,
      detour,
    )
  if (detour !== undefined)
    return tell(
      'new-question',
      `Cannot go on with ${who}: it asks anew before ${goal}: ${questionText(detour)}`,
      detour,
    )
  if (end.kind === 'reached') return undefined
  if (course.isParked)
    return tell('not-asked', `Cannot go on with ${who}: it waits, but never asks again: ${goal}`)
  return tell(
    'unreached',
    `Cannot go on with ${who}: after ${patienceMs} ms its code still awaits something outside of the engine before ${goal}`,
  )
}
