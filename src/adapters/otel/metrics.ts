import type { Attributes, Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api'
import type {
  AttemptBeginMessage,
  AttemptEndMessage,
  AttemptMessage,
  LeaseMessage,
  RunCreateMessage,
  RunEndMessage,
  RunTriggerMessage,
  StorageCallMessage,
  TokenSettleMessage,
  WaitMessage,
} from '../../api/diagnostics.ts'
import { CALL_BOUNDARIES, RUN_BOUNDARIES } from '../../api/duration-boundaries.ts'
import { errorType } from './attributes.ts'
import { DUE_AT } from './due-at.ts'

/** An attempt that is under way. */
interface MeasuredAttempt {
  isParked: boolean
  /** Since when it executes, or waits. */
  since: number
  executedMs: number
  waitedMs: number
  readonly waits: Set<object>
}

/** Counts and measures what engines do. */
export class Metrics {
  readonly #triggered: Counter
  readonly #ended: Counter
  readonly #duration: Histogram
  readonly #queued: Histogram
  readonly #executing: Histogram
  readonly #waiting: Histogram
  readonly #executingNow: UpDownCounter
  readonly #waits: UpDownCounter
  readonly #settled: Counter
  readonly #leases: Counter
  readonly #calls: Histogram
  readonly #attempts = new WeakMap<object, MeasuredAttempt>()

  constructor(meter: Meter) {
    const counter = (name: string, unit: string, description: string): Counter =>
      meter.createCounter(name, { unit, description })
    const histogram = (name: string, description: string, boundaries: readonly number[]): Histogram =>
      meter.createHistogram(name, {
        unit: 's',
        description,
        advice: { explicitBucketBoundaries: [...boundaries] },
      })
    this.#triggered = counter('waitpoint.runs.triggered', '{run}', 'Runs that were made here')
    this.#ended = counter('waitpoint.runs.ended', '{run}', 'Runs that were ended here, by status')
    this.#duration = histogram(
      'waitpoint.run.duration',
      'From the trigger of a run to its end',
      RUN_BOUNDARIES,
    )
    this.#queued = histogram(
      'waitpoint.run.queued',
      'From the instant a run is due to its start',
      RUN_BOUNDARIES,
    )
    this.#executing = histogram('waitpoint.attempt.executing', 'How long attempts executed', RUN_BOUNDARIES)
    this.#waiting = histogram('waitpoint.attempt.waiting', 'How long attempts waited', RUN_BOUNDARIES)
    this.#executingNow = meter.createUpDownCounter('waitpoint.attempts.executing', {
      unit: '{attempt}',
      description: 'Attempts that execute: they hold a slot',
    })
    this.#waits = meter.createUpDownCounter('waitpoint.waits.open', {
      unit: '{wait}',
      description: 'Waits of attempts that are not settled',
    })
    this.#settled = counter('waitpoint.tokens.settled', '{token}', 'Tokens that were settled here, by status')
    this.#leases = counter('waitpoint.leases', '{lease}', 'Leases that were renewed, or lost')
    this.#calls = histogram('waitpoint.storage.call.duration', 'How long the storage took', CALL_BOUNDARIES)
  }

  trigger({ run, carrier }: RunTriggerMessage): void {
    if (run.wakeAt !== undefined) carrier[DUE_AT] = String(run.wakeAt)
  }

  create({ run }: RunCreateMessage): void {
    this.#triggered.add(1, ofTask(run.taskId))
  }

  end({ run, at }: RunEndMessage): void {
    const attributes = { ...ofTask(run.taskId), 'waitpoint.run.status': run.status }
    this.#ended.add(1, attributes)
    this.#duration.record(seconds(at - run.createdAt), attributes)
  }

  attempt(message: AttemptMessage): void {
    if (message.phase === 'begin') {
      this.#begin(message)
      return
    }
    const measured = this.#attempts.get(message.attempt)
    if (measured === undefined) return
    const passed = message.at - measured.since
    if (measured.isParked) measured.waitedMs += passed
    else measured.executedMs += passed
    measured.since = message.at
    if (message.phase === 'end') this.#end(message, measured)
    else {
      measured.isParked = message.phase === 'park'
      this.#executingNow.add(measured.isParked ? -1 : 1, ofTask(message.run.taskId))
    }
  }

  #begin({ attempt, run, at, carrier }: AttemptBeginMessage): void {
    const { taskId, createdAt } = run
    this.#attempts.set(attempt, { isParked: false, since: at, executedMs: 0, waitedMs: 0, waits: new Set() })
    this.#executingNow.add(1, ofTask(taskId))
    // A run that was triggered without telemetry does not say when it was due.
    if (run.attempt > 1 || carrier === undefined) return
    const dueAt = Number(carrier[DUE_AT] ?? createdAt)
    if (dueAt <= at) this.#queued.record(seconds(at - dueAt), ofTask(taskId))
  }

  #end({ attempt, run, outcome }: AttemptEndMessage, measured: MeasuredAttempt): void {
    const { taskId } = run
    this.#attempts.delete(attempt)
    const attributes = { ...ofTask(taskId), 'waitpoint.attempt.outcome': outcome }
    this.#executing.record(seconds(measured.executedMs), attributes)
    this.#waiting.record(seconds(measured.waitedMs), attributes)
    if (!measured.isParked) this.#executingNow.add(-1, ofTask(taskId))
    if (measured.waits.size > 0) this.#waits.add(-measured.waits.size)
  }

  wait({ phase, attempt, wait }: WaitMessage): void {
    const waits = this.#attempts.get(attempt)?.waits
    if (waits === undefined) return
    if (phase === 'begin') {
      waits.add(wait)
      this.#waits.add(1)
    } else if (waits.delete(wait)) this.#waits.add(-1)
  }

  settle({ token: { kind, status } }: TokenSettleMessage): void {
    this.#settled.add(1, { 'waitpoint.token.kind': kind, 'waitpoint.token.status': status })
  }

  lease({ outcome }: LeaseMessage): void {
    this.#leases.add(1, { 'waitpoint.lease.outcome': outcome })
  }

  storage({ call, calledAt, at, error }: StorageCallMessage): void {
    const failure = error === undefined ? {} : { 'error.type': errorType(error) }
    this.#calls.record(seconds(at - calledAt), { 'waitpoint.storage.call': call, ...failure })
  }
}

function ofTask(taskId: string): Attributes {
  return { 'waitpoint.task.id': taskId }
}

/** The clock may be corrected meanwhile. */
function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000
}
