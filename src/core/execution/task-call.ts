import { isPromise } from '../../primitives/awaitable.ts'
import { LAST_INSTANT } from '../../primitives/duration.ts'
import { AbortTaskRunError, WaitpointError } from '../../api/errors.ts'
import { MAX_ATTEMPTS, retryDelayMs } from '../../api/retry.ts'
import {
  assertOpen,
  type Attempt,
  currentAttempt,
  inBranch,
  outsideRuns,
  runInAttempt,
} from '../attempt/attempt.ts'
import { ATTEMPT } from '../diagnostics.ts'
import type { Host } from '../host/host.ts'
import type { Portions } from '../host/portions.ts'
import { branchContent } from '../waits/key.ts'
import { loggerOf } from '../host/log-line.ts'
import { toJson } from '../../api/serialize.ts'
import { payloadOf, type Values, valuesFor } from '../../api/values.ts'
import type { Logger } from '../../api/log.ts'
import { callAsTold } from '../host/attempt-messages.ts'
import { readOverrides } from '../host/overrides.ts'
import { keyOf } from '../views/run.ts'
import type { HookContext, RunContext, RunTools } from '../../api/task.ts'
import {
  CALL_END,
  type CallEnd,
  type HasRunPlace,
  type RunPlace,
  type SettlesCalls,
} from '../../api/run-place.ts'
import type { TaskRunsNamespace, TasksNamespace } from '../../api/run.ts'
import type { EngineStreamsNamespace } from '../../api/input.ts'
import type { MetadataNamespace } from '../../api/stream.ts'
import type { LinkingWaitNamespace } from '../../api/token.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { TaskDefinition } from '../../api/task-definition.ts'
import { validatePayload } from '../../api/task-definition.ts'

/** How a call of the function ended. */
export type AttemptEnd = ReturnedAttempt | ThrownAttempt

export interface ReturnedAttempt {
  readonly kind: 'returned'
  readonly output: unknown
  readonly outputJson: string | undefined
}

export interface ThrownAttempt {
  readonly kind: 'threw'
  readonly error: unknown
  /** No attempt follows, even if the policy allows one. */
  readonly isFinal: boolean
}

interface Parts {
  readonly host: Host
  readonly values: Values
  readonly portions: Portions
}

/** What comes before the call of an attempt that follows an interruption. */
type Recall = (attempt: Attempt) => Promise<void>

/** Calls the functions of tasks, each once and inside its attempt, and tells how the call ended. */
export class TaskCaller {
  readonly #returned: (value: unknown) => void
  readonly #threw: (error: unknown) => void
  readonly #kernel: Parts
  readonly #recall: Recall

  /** @param tell Never called within the call. */
  constructor(kernel: Parts, tell: (attempt: Attempt, end: AttemptEnd) => void, recall: Recall) {
    this.#kernel = kernel
    this.#recall = recall
    const told = (attempt: Attempt, { ok, value }: CallEnd): void =>
      tell(
        attempt,
        ok
          ? readOutput(attempt, value, kernel.values)
          : { kind: 'threw', error: value, isFinal: isHopeless(value) },
      )
    const toldLater = (attempt: Attempt, settled: Promise<CallEnd>): void =>
      void settled.then((call) => told(attempt, call))
    const ended = (ok: boolean) => (value: unknown) => {
      const attempt = currentAttempt()
      if (attempt === undefined) return
      const { [CALL_END]: settle } = attempt.definition.options as SettlesCalls
      const call: CallEnd = { ok, value }
      const settled = settle?.(call, attempt) ?? call
      if (isPromise(settled)) toldLater(attempt, settled)
      else told(attempt, settled)
    }
    this.#returned = ended(true)
    this.#threw = ended(false)
  }

  /**
   * Hot, hence no async function, one promise, and handlers for all attempts, which find theirs by the attempt they are
   * called in: all that is made here is held for as long as the run waits.
   */
  call(attempt: Attempt, tools: RunTools): void {
    runInAttempt(attempt, () => {
      try {
        Promise.resolve(this.#run(attempt, tools)).then(this.#returned, this.#threw)
      } catch (error) {
        // The function is not an async one, or its result cannot even be awaited. Anything may be thrown.
        Promise.reject(error as Error).catch(this.#threw)
      }
    })
  }

  #run(attempt: Attempt, tools: RunTools): unknown {
    if (!ATTEMPT.hasSubscribers) return this.#runTask(attempt, tools)
    return callAsTold(attempt, this.#kernel.host, () => this.#runTask(attempt, tools))
  }

  /** Calls the hooks and the function; most tasks have the function alone. */
  #runTask(attempt: Attempt, tools: RunTools): unknown {
    const { definition, record } = attempt
    const { schema, options } = definition
    const { portions, values } = this.#kernel
    const turn = portions.take(record.payloadJson?.length ?? 0)
    const isFirst = options.onStart !== undefined && record.attempt === 1
    // A call that the retry policy does not count follows an interruption.
    const isAgain = record.attempt > record.policyAttempt
    if (turn !== undefined || schema !== undefined || isFirst || isAgain)
      return prepareAndRun({ attempt, tools, turn, values, recall: isAgain ? this.#recall : undefined })
    const payload = payloadOf(attempt, values)
    attempt.payload = payload
    return options.run(payload, tools)
  }
}

interface Preparation {
  readonly attempt: Attempt
  readonly tools: RunTools
  /** Of a large payload: until then others are read. */
  readonly turn: Promise<void> | undefined
  readonly values: Values
  readonly recall: Recall | undefined
}

async function prepareAndRun({ attempt, tools, turn, values, recall }: Preparation): Promise<unknown> {
  const { definition } = attempt
  const { options } = definition
  if (turn !== undefined) await turn
  const stored = payloadOf(attempt, values)
  if (recall !== undefined) await outsideRuns(() => recall(attempt))
  const payload = await validatePayload(definition, stored)
  attempt.payload = payload
  if (options.onStart !== undefined && attempt.record.attempt === 1) {
    assertOpen(attempt)
    const { onStart } = options
    // Not called again after an interruption: its waits must not move those of the function.
    await inBranch(attempt, branchContent('onStart'), () =>
      onStart({ payload, ctx: tools.ctx, signal: tools.signal }),
    )
  }
  // The run may have been canceled meanwhile.
  assertOpen(attempt)
  return options.run(payload, tools)
}

function readOutput({ definition }: Attempt, output: unknown, values: Values): AttemptEnd {
  const subject = 'the output of task'
  try {
    const stored = valuesFor(definition, values).encode(output, subject, definition.id)
    return { kind: 'returned', output, outputJson: toJson(stored, subject, definition.id) }
  } catch (error) {
    // Calling again would not make the output JSON: no retry.
    return { kind: 'threw', error, isFinal: true }
  }
}

const HOPELESS: readonly string[] = ['ERR_PAYLOAD_INVALID', 'ERR_CANNOT_DECODE']

/** The error was thrown to end the run, or the schema of the task no longer takes the payload, or the codec cannot read it. */
function isHopeless(error: unknown): boolean {
  try {
    if (error instanceof AbortTaskRunError) return true
    return error instanceof WaitpointError && HOPELESS.includes(error.code)
  } catch {
    // Anything can be thrown, also a value that does not even tell its class.
    return false
  }
}

/** The step after an attempt that threw: another one at `retryAt`, or the end with `error`. */
export interface RetryPlan {
  readonly error: unknown
  readonly retryAt?: number
}

/** Asks the retry policy and then `catchError`, which has the last word; neither when the attempt was to be the last. */
export async function planRetry(
  attempt: Attempt,
  end: { readonly error: unknown; readonly isFinal: boolean },
  { now, fraction }: { readonly now: number; readonly fraction: () => number },
): Promise<RetryPlan> {
  if (end.isFinal) return { error: end.error }
  const { definition } = attempt
  const policy = { ...definition.retry, ...readOverrides(attempt.record.optionsJson) }
  const delayMs = retryDelayMs(policy, attempt.record.policyAttempt, fraction)
  const byPolicy: RetryPlan =
    delayMs === undefined
      ? { error: end.error }
      : { error: end.error, retryAt: Math.min(now + delayMs, LAST_INSTANT) }
  const { catchError } = definition.options
  if (catchError === undefined) return byPolicy
  try {
    const told = { ...hookContext(attempt), error: end.error }
    const { retryAt } = byPolicy
    const answer = await catchError(
      delayMs === undefined || retryAt === undefined
        ? told
        : { ...told, retryDelayInMs: delayMs, retryAt: new Date(retryAt) },
    )
    return answer === undefined ? byPolicy : decide(byPolicy, answer, now)
  } catch (error) {
    return { error }
  }
}

function decide(
  byPolicy: RetryPlan,
  answer: { skipRetrying?: boolean; retryAt?: Date; retryDelayInMs?: number; error?: unknown },
  now: number,
): RetryPlan {
  const { retryAt, retryDelayInMs } = answer
  const error = answer.error ?? byPolicy.error
  if (answer.skipRetrying === true) return { error }
  if (retryAt !== undefined) {
    return {
      error,
      retryAt: readRetry('retryAt', retryAt instanceof Date ? retryAt.getTime() : retryAt, {
        least: now,
        most: LAST_INSTANT,
      }),
    }
  }
  if (retryDelayInMs === undefined) return { ...byPolicy, error }
  const delayMs = readRetry('retryDelayInMs', retryDelayInMs, { least: 0, most: LAST_INSTANT - now })
  return { error, retryAt: now + delayMs }
}

/** A whole number of milliseconds, at least `least`; anything else would be a run that never comes back. */
function readRetry(
  name: string,
  value: unknown,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  if (typeof value === 'number' && value > -Infinity && value <= most)
    return Math.max(least, Math.round(value))
  throw new RangeError(`Cannot retry: catchError answered ${name} ${String(value)}`)
}

/** The part of a hook's argument that all hooks have. */
export function hookContext(attempt: Attempt): HookContext<unknown> {
  return { payload: attempt.payload, ctx: contextOf(attempt), signal: attempt.signal }
}

/** How many attempts a run may use up. */
export function maxAttemptsOf({ retry }: TaskDefinition, record: RunRecord): number {
  return readOverrides(record.optionsJson).maxAttempts ?? retry.maxAttempts ?? MAX_ATTEMPTS
}

/** How long an attempt may execute, in milliseconds; none: as long as it likes. */
export function maxDurationOf({ definition, record }: Attempt): number | undefined {
  return readOverrides(record.optionsJson).maxDurationMs ?? definition.maxDurationMs
}

/** `ctx`: the run and the attempt, as the task sees them. */
function contextOf(attempt: Attempt): RunContext {
  const { record, definition } = attempt
  const { idempotencyKey } = keyOf(record)
  const maxDurationMs = maxDurationOf(attempt)
  const { isReplay = false, batchId } = readOverrides(record.optionsJson)
  return {
    run: {
      id: record.id,
      tags: record.tags,
      createdAt: new Date(record.createdAt),
      startedAt: new Date(record.startedAt ?? record.createdAt),
      ...(record.priorityMs === undefined ? {} : { priority: record.priorityMs / 1_000 }),
      queue: record.queue,
      maxAttempts: maxAttemptsOf(definition, record),
      ...(maxDurationMs === undefined ? {} : { maxDurationMs }),
      isReplay,
      ...(batchId === undefined ? {} : { batchId }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      ...(record.parentId === undefined ? {} : { parentId: record.parentId }),
      rootId: record.rootId,
    },
    task: { id: record.taskId },
    attempt: {
      number: record.attempt,
      policyNumber: record.policyAttempt,
      startedAt: new Date(attempt.startedAt),
    },
  }
}

/** The second argument of `run`: made for every attempt, worked out only when read. */
export class AttemptTools implements RunTools, HasRunPlace {
  readonly #attempt: Attempt
  #ctx: RunContext | undefined

  constructor(attempt: Attempt) {
    this.#attempt = attempt
  }

  get place(): RunPlace {
    return this.#attempt
  }

  get ctx(): RunContext {
    return (this.#ctx ??= contextOf(this.#attempt))
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get logger(): Logger {
    return loggerOf((entry) => this.#attempt.kernel.logs.write(entry, this.#attempt))
  }

  get wait(): LinkingWaitNamespace {
    return this.#attempt.kernel.tools.wait
  }

  get metadata(): MetadataNamespace {
    return this.#attempt.kernel.tools.metadata
  }

  get runs(): TaskRunsNamespace {
    return this.#attempt.kernel.tools.runs
  }

  get tasks(): TasksNamespace {
    return this.#attempt.kernel.tools.tasks
  }

  get streams(): EngineStreamsNamespace {
    return this.#attempt.kernel.tools.streams
  }
}
