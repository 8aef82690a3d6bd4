import type { AnyTask, RunOutcome, TaskPayload } from '../api/run.ts'
import { type AnswerPath, AnswerWalk } from './exploration/answer-walk.ts'
import type { ExplorationTools } from './exploration/body-tools.ts'
import { fifo } from './exploration/decider.ts'
import { ExplorationError } from './exploration/error.ts'
import { keptPage } from './exploration/kept-page.ts'
import { outcomeText, renderOutcomes } from './exploration/outcome-text.ts'
import type { WaitingToken } from './exploration/question-desk.ts'
import { Schedule } from './exploration/schedule.ts'
import { BODY_OPTION_NAMES, type BodyOptions, scheduleOptions } from './exploration/schedule-options.ts'
import { storyKind } from './exploration/story.ts'
import { type OptionNames, requireOptions } from '../primitives/require.ts'

/** The possible answers of the outside world, by the tag of the token. */
export type Answers = Readonly<Record<string, readonly unknown[]>>

/** A task with its child tasks, and options of the engine. */
export interface OutcomeSubject<ATask extends AnyTask> extends Omit<BodyOptions, 'crashes' | 'faults'> {
  readonly task: ATask
}

/** The result of a run for one behaviour of the outside world. */
export interface OutcomeRow {
  /** The answers in order: `approval: true`, `approval: time-out`. */
  readonly answers: readonly string[]
  /** The output, or the error. */
  readonly result: string
  /** Virtual milliseconds from the trigger to the end. */
  readonly durationMs: number
}

export interface Outcomes {
  readonly rows: readonly OutcomeRow[]
  /** The rows as a table, for an inline snapshot. */
  readonly text: string
}

const { crashes: _crashes, faults: _faults, ...BODY_NAMES } = BODY_OPTION_NAMES
const SUBJECT_NAMES: OptionNames<OutcomeSubject<AnyTask>> = { task: true, ...BODY_NAMES }
const MOST_ROWS = 1_000

/**
 * Runs a task once for every combination of answers to its tokens: each given value, none until the deadline, a cancel,
 * and a crash before the first value. See docs/testing.md.
 *
 * @param subject A task, or `{ task, tasks: [its children] }`.
 * @param answers The values to try, by a tag of the token.
 *
 * @throws ExplorationError when something is wrong with one of them; RangeError when there are more than 1,000.
 *
 * @example
 * ```ts
 * const { text } = await outcomes(review, { doc: 'd1' }, { approval: [true, false] })
 * expect(text).toMatchInlineSnapshot()
 * ```
 */
export async function outcomes<ATask extends AnyTask>(
  subject: ATask | OutcomeSubject<ATask>,
  payload: TaskPayload<ATask>,
  answers: Answers = {},
): Promise<Outcomes> {
  const { task, tasks = [], ...options } = readSubject(subject)
  // With crashes enabled, so that triggered runs can be found again; the schedule itself has none.
  const given = scheduleOptions({ ...options, tasks: [task, ...tasks], crashes: 'every-commit' })
  const walk = new AnswerWalk(answers)
  const rows: OutcomeRow[] = []
  for (let path = walk.next(); path !== undefined; path = walk.next()) {
    if (rows.length === MOST_ROWS)
      throw new RangeError(`Cannot list the outcomes: there are more than ${MOST_ROWS}; give fewer answers`)
    const current = path
    let row: OutcomeRow | undefined
    const schedule = new Schedule(given, fifo().begin() ?? (() => 0))
    const body = async (t: ExplorationTools): Promise<void> => {
      row = await walked(t, current, () => t.engine.trigger(task, payload))
    }
    const report = await schedule.run(body)
    if (report.failure !== undefined) {
      const story = storyKind(false)
      const failed = { trace: [], report, run: rows.length + 1, deviationsBefore: 0, story }
      throw new ExplorationError({ ...failed, page: await keptPage(failed) })
    }
    if (row !== undefined) rows.push(row)
  }
  return { rows, text: renderOutcomes(rows) }
}

function readSubject<ATask extends AnyTask>(subject: ATask | OutcomeSubject<ATask>): OutcomeSubject<ATask> {
  if (!('task' in subject)) return { task: subject }
  requireOptions(subject, 'the subject of outcomes', SUBJECT_NAMES)
  return subject
}

interface Triggered {
  readonly id: string
  outcome(): Promise<RunOutcome<unknown>>
}

/** Walks one path: answers every token of the run until the run has ended. */
async function walked(
  t: ExplorationTools,
  path: AnswerPath,
  trigger: () => Promise<Triggered>,
): Promise<OutcomeRow> {
  const startedAt = t.clock.now()
  const run = await trigger()
  const ended = run.outcome().then((outcome) => ({ outcome, at: t.clock.now() }))
  const settled: string[] = []
  for (;;) {
    const asked = await Promise.race([ended, asks(t, settled)])
    if (asked === undefined || 'outcome' in asked) break
    const answer = path.answer(asked)
    if (answer.kind !== 'crash') settled.push(asked.id)
    if (answer.kind === 'crash') t.crash()
    else if (answer.kind === 'value') await t.engine.wait.completeToken(asked, answer.value)
    else if (answer.kind === 'cancel') {
      await t.engine.runs.cancel(run)
      break
    }
  }
  const { outcome, at } = await ended
  return { answers: path.texts, result: outcomeText(outcome), durationMs: at - startedAt }
}

/** The next waiting token; `undefined` if none will come. */
async function asks(t: ExplorationTools, not: readonly string[]): Promise<WaitingToken | undefined> {
  try {
    return await t.waitingToken({ not: [...not], isAtRest: true })
  } catch {
    // Nothing is left that could create a token.
    return undefined
  }
}
