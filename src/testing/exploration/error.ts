import { renderStory, type StoryKind } from './story.ts'
import type { ScheduleReport } from './schedule.ts'
import type { StoryPage } from './story-page.ts'
import { formatTrace, type Trace } from './trace.ts'
import { type Invariant, InvariantViolation } from './violation.ts'

/** A failing schedule, after shrinking. */
export interface FailedSchedule {
  readonly trace: Trace
  readonly report: ScheduleReport
  /** The number of the schedule, from 1. */
  readonly run: number
  /** The number of deviations before shrinking. */
  readonly deviationsBefore: number
  /** The seed of the schedules, if they were random. */
  readonly seed?: number | string | undefined
  /** Whether the budget ended the shrinking. */
  readonly isCut?: boolean
  readonly story: StoryKind
  /** Whether the same schedule has passed before. */
  readonly hasPassed?: boolean
  /** Its page, where one can be written: the path, if it was. */
  readonly page?: { readonly path: string | undefined }
}

/** Characters of a replay line, and of the message of a cause, that a message shows. */
const MOST_LINE = 4_000
const MOST_CAUSE = 8_000

/**
 * An invariant, or the body, failed in a schedule. The message tells the schedule and how to replay it. See
 * docs/exploring.md.
 */
export class ExplorationError extends Error {
  readonly code = 'ERR_EXPLORATION_FAILED'
  readonly invariant: Invariant
  /** The schedule, as deviations from FIFO. */
  readonly trace: Trace
  /** The schedule as one line, for the option `replay` and for `WAITPOINT_REPLAY`. */
  readonly replay: string
  /** The number of the failed schedule, from 1. */
  readonly run: number
  /** The seed of the schedules; `undefined` if they were enumerated or replayed. */
  readonly seed: number | string | undefined
  readonly #failed: FailedSchedule

  constructor(failed: FailedSchedule) {
    const { trace, report, run, seed } = failed
    const cause = report.failure?.error
    super(describe(failed), { cause })
    this.name = 'ExplorationError'
    this.invariant = invariantOf(cause)
    this.trace = trace
    this.replay = formatTrace(trace)
    this.run = run
    this.seed = seed
    this.#failed = failed
  }

  /**
   * The story as a page in HTML, with a lane for the clock, the test, each run, each engine and the storage. It is whole in
   * itself, so it can be kept and sent. `WAITPOINT_STORY_DIR` names a folder that such pages are written into.
   */
  async html(): Promise<string> {
    const { storyPage } = await import('./story-page.ts')
    return storyPage(storyOf(this.#failed))
  }
}

/** What the page of a failed schedule shows. */
export function storyOf({
  trace,
  report,
  run,
  deviationsBefore,
  seed,
  isCut,
  hasPassed,
}: FailedSchedule): StoryPage {
  const { steps, names, failure } = report
  return {
    steps,
    names,
    trace,
    failure: failureText(failure?.error).replace(/^fails: /, ''),
    notes: [
      `Schedule ${run}.`,
      ...(hasPassed === true ? [HAS_PASSED] : []),
      departuresText(trace.length, deviationsBefore, isCut === true),
      ...(seed === undefined ? [] : [`Seed: ${seed}`]),
    ],
    replay: formatTrace(trace),
  }
}

/** The invariant that an error reports as violated. */
export function invariantOf(error: unknown): Invariant {
  return error instanceof InvariantViolation ? error.invariant : 'the body holds'
}

function describe({
  trace,
  report,
  run,
  deviationsBefore,
  seed,
  isCut,
  story,
  hasPassed,
  page,
}: FailedSchedule): string {
  const cause = report.failure?.error
  const { steps, names } = report
  const told = renderStory({ steps, trace, names }, story)
  const departures = departuresText(trace.length, deviationsBefore, isCut === true)
  return [
    `Schedule ${run} ${failureText(cause)}`,
    ...(hasPassed === true ? ['', HAS_PASSED] : []),
    ...(told === '' ? [] : ['', told, '', departures, ...howToReplay(formatTrace(trace))]),
    ...(seed === undefined ? [] : [`Seed: ${seed}; run all schedules again with WAITPOINT_SEED='${seed}'`]),
    ...(told === '' || story === 'storage' ? [] : ['Every storage call: WAITPOINT_STORY=storage']),
    ...(told === '' || page === undefined
      ? []
      : [`As a page: ${page.path ?? 'WAITPOINT_STORY_DIR=stories'}`]),
  ].join('\n')
}

const HAS_PASSED =
  'The same schedule passed before: state outside the body? A variable of the module, a cache or a file keeps what an ' +
  'earlier schedule left there. Make it inside the body, or empty it at the start.'

/** What the assertion said; an invariant is named before it. */
function failureText(cause: unknown): string {
  if (cause instanceof InvariantViolation) return `breaks "${cause.invariant}": ${bounded(cause.message)}`
  if (!(cause instanceof Error)) return `fails: ${bounded(String(cause))}`
  const name = PLAIN.has(cause.name) ? '' : `${cause.name}: `
  return `fails: ${bounded(`${name}${cause.message}`)}`
}

/** Names of errors that say nothing. */
const PLAIN: ReadonlySet<string> = new Set(['Error', 'AssertionError', 'NoTokenError'])

function departuresText(count: number, countBefore: number, isCut: boolean): string {
  if (count === 0) return 'It fails in the usual order: first in, first out.'
  const shrunk = countBefore > count ? `, shrunk from ${countBefore}` : ''
  const cut = isCut ? ', the budget for shrinking is spent' : ''
  return `▶ departs from the usual order, first in, first out (${count} ${count === 1 ? 'departure' : 'departures'}${shrunk}${cut}).`
}

function howToReplay(replay: string): readonly string[] {
  if (replay.length > MOST_LINE)
    return [
      `Replay: the line has ${replay.length} characters; take it from the property \`replay\` of this error`,
    ]
  return [`Replay: WAITPOINT_REPLAY='${replay}'`]
}

function bounded(text: string): string {
  const left = text.length - MOST_CAUSE
  if (left <= 0) return text
  return `${text.slice(0, MOST_CAUSE)}… and ${left} characters more; see the property \`cause\` of this error`
}
