import type { ClockMode } from './mode.ts'
import type { External } from './hold-ledger.ts'
import type { EndlessRun } from './instant-calls.ts'
import { type ClockView, renderBeside } from './timeline.ts'
import type { PendingTimer } from './timers.ts'
import {
  circleIn,
  renderWaitedToken,
  renderWaitGraph,
  type WaitedToken,
  type WaitingRun,
} from './wait-graph.ts'
import type { WitnessedHold } from './witnessed.ts'

/** The error codes of the test clock. A code never changes its meaning. */
export type ClockErrorCode =
  | 'ERR_STILL_BUSY'
  | 'ERR_STUCK'
  | 'ERR_STANDSTILL'
  | 'ERR_CLOCK_REENTRY'
  | 'ERR_RUNAWAY'
  | 'ERR_VIRTUAL_TIMEOUT'
  | 'ERR_LEFTOVER'

/** Errors of the test clock; every message says what to do. */
export class ClockError extends Error {
  override name: string = 'ClockError'
  readonly code: ClockErrorCode

  constructor(code: ClockErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Virtual time cannot move, because code is still executing in real time without waiting for anything the clock knows.
 */
export class StillBusyError extends ClockError {
  override name: string = 'StillBusyError'

  /** The busy runs and calls, by id or name. */
  readonly ids: readonly string[]

  constructor(busy: readonly WitnessedHold[], ioGraceMs: number) {
    const list = busy.map(renderBusy).join(', ')
    super(
      'ERR_STILL_BUSY',
      `Cannot settle the clock: no sign of life for ${ioGraceMs} ms of real time, and still busy: ${list}. ` +
        'Wrap real I/O in `clock.external(promise)`, raise `ioGraceMs`, find the promise that never settles, ' +
        'or use `fakeGlobals` of `createTestEngine` for the `setTimeout` of a task',
    )
    this.ids = busy.map(({ id }) => id)
  }
}

function renderBusy(hold: WitnessedHold): string {
  const { kind, id } = hold
  const boundary = hold.lastBoundary?.()
  const known = hold.run?.()
  const whose = known === undefined ? '' : ` of task "${known.taskId}", triggered at ${known.origin}`
  return `"${id}"${whose} (${kind}${boundary === undefined ? '' : `, last seen at ${boundary}`})`
}

export interface StuckOptions {
  /** The awaited thing, for messages. */
  readonly awaited: string
  readonly view: ClockView
  readonly graph: readonly WaitingRun[]
  /** The token whose answer was forgotten; without one, no timer is left at all. */
  readonly forgotten?: WaitedToken | undefined
}

/**
 * The awaited result can never come: nothing is scheduled that could end the wait, except a time-out that neither the
 * test nor the task has named.
 */
export class StuckError extends ClockError {
  override name: string = 'StuckError'

  /** The awaited runs, or else all waiting runs, each with its waits. Empty without a fixture. */
  readonly graph: readonly WaitingRun[]

  constructor({ awaited, view, graph, forgotten }: StuckOptions) {
    const waits = graph.length === 0 ? '' : `${renderWaitGraph(graph)}\n`
    const why = forgotten === undefined ? nothingLeft(graph) : forgottenAnswer(forgotten, waits)
    super('ERR_STUCK', `Cannot go on waiting for ${awaited}: ${why}\n${waits}${renderBeside(view, waits)}`)
    this.graph = graph
  }
}

const NOTHING_LEFT =
  'nothing is executing and no timer is left that could end it. ' +
  'Complete the token it waits for, give the wait a timeout, or wrap real I/O in `clock.external(promise)`.'

function nothingLeft(graph: readonly WaitingRun[]): string {
  const circle = circleIn(graph)
  if (circle === undefined) return NOTHING_LEFT
  const runs = [...circle, ...circle.slice(0, 1)].map(({ id, taskId }) => `${id} of task "${taskId}"`)
  return (
    `each of these runs waits for the end of the next: ${runs.join(' -> ')}. ` +
    'Let one of them end without the result of the other, or pass what it needs through a token.'
  )
}

function forgottenAnswer(token: WaitedToken, graph: string): string {
  const which = graph.includes(token.id) ? '' : ` It is ${renderWaitedToken(token)}`
  return (
    'the token is never completed, and its timeout is only the default. ' +
    `Complete it in the test, give \`createToken\` a \`timeout\`, or set the clock's \`onUnanswered: 'timeout'\`.${which}`
  )
}

export interface StandstillOptions {
  readonly awaited: readonly WitnessedHold[]
  /** The real I/O that time stands still for. */
  readonly externals: readonly External[]
  readonly mode: ClockMode
  readonly standstillMs: number
  readonly view: ClockView
  readonly graph: readonly WaitingRun[]
}

/**
 * A call waits for time to pass, and time stands still: in a mode in which only the test moves it, or for declared real
 * I/O that does not settle.
 */
export class StandstillError extends ClockError {
  override name: string = 'StandstillError'

  constructor({ awaited, externals, mode, standstillMs, view, graph }: StandstillOptions) {
    const callers = awaited.map(({ id, origin }) => `"${id}"${origin === undefined ? '' : ` at ${origin()}`}`)
    const whom = callers.length === 0 ? 'the clock' : callers.join(', ')
    const still = `time has stood still at ${new Date(view.now).toISOString()} for ${standstillMs} ms of real time`
    const why = externals.length > 0 ? unsettled(externals) : unmoved(mode)
    const waits = graph.length === 0 ? '' : `${renderWaitGraph(graph)}\n`
    super(
      'ERR_STANDSTILL',
      `Cannot go on waiting for ${whom}: ${still}, ${why}\n${waits}${renderBeside(view, waits)}`,
    )
  }
}

function unsettled(externals: readonly External[]): string {
  const list = externals.map(
    ({ label, origin }) => `"${label}"${origin === undefined ? '' : `, at ${origin()}`}`,
  )
  return (
    `because promises given to \`clock.external\` have not settled: ${list.join('; ')}. ` +
    "Settle them, or raise the clock's `standstillMs` and the time-out of the test runner"
  )
}

function unmoved(mode: ClockMode): string {
  if (mode === 'frozen')
    return 'because the clock is in mode "frozen". Use mode "auto" or "manual", or do not await what only time can bring'
  return (
    `because the clock is in mode "${mode}" and the test has not moved it. ` +
    'Move it before you await (`clock.advance`), or with it (`await clock.until(run.result())`), use mode "auto", ' +
    "or raise the clock's `standstillMs`"
  )
}

/** Task code called a function that waits for the task itself. */
export class ClockReentryError extends ClockError {
  override name: string = 'ClockReentryError'

  constructor(name: string, runId: string) {
    super(
      'ERR_CLOCK_REENTRY',
      `Cannot call \`clock.${name}\` inside run "${runId}": it waits until that run waits. ` +
        'Call it from the test; inside a task use `wait.for`, or `clock.sleep` in a mock',
    )
  }
}

export interface RunawayOptions {
  readonly maxSteps: number
  /** The labels that fired most often, the most frequent first. */
  readonly labels?: readonly string[]
  /** The awaited runs, or else all waiting runs, each with its waits; empty without a fixture. */
  readonly graph?: readonly WaitingRun[]
  /** The run whose calls have no end, if it is not the timers. */
  readonly endless?: EndlessRun & { readonly run: WaitingRun | undefined }
}

/** Timers keep setting new timers, or a run keeps calling its engine while no time passes. */
export class RunawayError extends ClockError {
  override name: string = 'RunawayError'

  /** The labels that fired most often, the most frequent first. */
  readonly labels: readonly string[]

  constructor({ maxSteps, labels = [], graph = [], endless }: RunawayOptions) {
    const why = endless === undefined ? manyTimers(maxSteps, labels) : manyCalls(maxSteps, endless)
    const waits = graph.length === 0 ? '' : `\n${renderWaitGraph(graph)}`
    super('ERR_RUNAWAY', `Cannot come to an end: ${why}${waits}`)
    this.labels = labels
  }
}

function manyTimers(maxSteps: number, labels: readonly string[]): string {
  const list = labels.map((label) => `"${label}"`).join(', ')
  return (
    `${maxSteps} timers fired in one call, most of them ${list}. ` +
    'Stop the code that sets them again, such as a loop whose condition never comes, mark upkeep as ' +
    '`background`, or raise `maxSteps`'
  )
}

function manyCalls(maxSteps: number, { runId, run, origin }: NonNullable<RunawayOptions['endless']>): string {
  const whose = run === undefined ? '' : ` of task "${run.taskId}", triggered at ${run.origin},`
  const place = origin === undefined ? '' : `, the last of them at ${origin()}`
  return (
    `run "${runId}"${whose} has called its engine more than ${maxSteps} times at one instant${place}. ` +
    'Give its loop a wait that takes time, such as `wait.for({ seconds: 1 })`, or a condition that ends it, or raise `maxSteps`'
  )
}

/** The goal of `until` was not met within its virtual time. */
export class VirtualTimeoutError extends ClockError {
  override name: string = 'VirtualTimeoutError'

  constructor(within: number | string, view: ClockView) {
    super(
      'ERR_VIRTUAL_TIMEOUT',
      `Cannot wait any longer: "${within}" of virtual time passed before it happened. ` +
        `Raise \`within\`, or look at what is scheduled.\n${renderBeside(view, '')}`,
    )
  }
}

/** A timer was still scheduled, or a call still awaited, when the clock was disposed. */
export class LeftoverError extends ClockError {
  override name: string = 'LeftoverError'

  constructor(timers: readonly PendingTimer[], awaited: readonly WitnessedHold[]) {
    const list = [
      ...timers.map(
        ({ label, stack }) => `timer "${label}"${stack === '' ? '' : `, ${stack.replace(/^Error: /, '')}`}`,
      ),
      ...awaited.map(
        ({ id, origin }) => `a caller awaits "${id}"${origin === undefined ? '' : `, at ${origin()}`}`,
      ),
    ]
    super(
      'ERR_LEFTOVER',
      'Cannot dispose the clock: timers or calls are left. Close the engine first, and await or cancel the rest.\n' +
        list.join('\n'),
    )
  }
}
