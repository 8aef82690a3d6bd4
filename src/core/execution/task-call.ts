import { AbortTaskRunError, WaitpointError } from '../../api/errors.ts'
import { retryDelayMs } from '../../api/retry.ts'
import { assertOpen, currentAttempt, type Attempt, runInAttempt } from '../attempt/attempt.ts'
import { fromJson, toJson } from '../host/serialize.ts'
import type { HookContext, RunContext, RunTools } from '../../api/task.ts'
import type { RunsNamespace, TasksNamespace } from '../../api/run.ts'
import type { MetadataNamespace, StreamsNamespace } from '../../api/stream.ts'
import type { WaitNamespace } from '../../api/token.ts'
import type { RunOverrides } from '../attempt/task-definition.ts'
import { validatePayload } from '../attempt/task-definition.ts'

const SETTLED = Promise.resolve()

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
  /** Whatever the policy says, there is no other attempt. */
  readonly isFinal: boolean
}

/** Calls the functions of tasks, each once and inside its attempt, and tells how the call ended. */
export class TaskCaller {
  readonly #returned: (value: unknown) => void
  readonly #threw: (error: unknown) => void

  /** @param tell Never called within the call. */
  constructor(tell: (attempt: Attempt, end: AttemptEnd) => void) {
    const ended = (read: (attempt: Attempt, value: unknown) => AttemptEnd) => (value: unknown) => {
      const attempt = currentAttempt()
      if (attempt !== undefined) tell(attempt, read(attempt, value))
    }
    this.#returned = ended(readOutput)
    this.#threw = ended((_, error) => ({ kind: 'threw', error, isFinal: isHopeless(error) }))
  }

  /**
   * Hot, hence no async function, one promise, and handlers for all attempts, which find theirs by the attempt they are
   * called in: all that is made here is held for as long as the run waits.
   */
  call(attempt: Attempt, tools: RunTools): void {
    runInAttempt(attempt, () => {
      try {
        Promise.resolve(runTask(attempt, tools)).then(this.#returned, this.#threw)
      } catch (error) {
        // The function is not an async one, or what it returned cannot even be awaited.
        SETTLED.then(() => this.#threw(error), this.#threw)
      }
    })
  }
}

/** Calls what there is to call; in most tasks that is the function alone. */
function runTask(attempt: Attempt, tools: RunTools): unknown {
  const { schema, options } = attempt.definition
  const payload = fromJson(attempt.record.payloadJson)
  const isFirst = options.onStart !== undefined && attempt.record.attempt === 1
  if (schema !== undefined || isFirst) return prepareAndRun({ attempt, tools, stored: payload })
  attempt.payload = payload
  return options.run(payload, tools)
}

interface Preparation {
  readonly attempt: Attempt
  readonly tools: RunTools
  readonly stored: unknown
}

async function prepareAndRun({ attempt, tools, stored }: Preparation): Promise<unknown> {
  const { definition } = attempt
  const { options } = definition
  const payload = await validatePayload(definition, stored)
  attempt.payload = payload
  if (options.onStart !== undefined && attempt.record.attempt === 1) {
    assertOpen(attempt)
    attempt.tokens = undefined
    await options.onStart({ payload, ctx: tools.ctx, signal: tools.signal })
    attempt.tokens = 0
  }
  // The run may have been canceled meanwhile.
  assertOpen(attempt)
  return options.run(payload, tools)
}

function readOutput({ definition }: Attempt, output: unknown): AttemptEnd {
  try {
    return { kind: 'returned', output, outputJson: toJson(output, 'the output of task', definition.id) }
  } catch (error) {
    // Calling again would not make the output JSON: no retry.
    return { kind: 'threw', error, isFinal: true }
  }
}

/** The error was thrown to end the run, or the schema of the task no longer takes the payload. */
function isHopeless(error: unknown): boolean {
  try {
    if (error instanceof AbortTaskRunError) return true
    return error instanceof WaitpointError && error.code === 'ERR_PAYLOAD_INVALID'
  } catch {
    // Anything can be thrown, also what does not even tell its class.
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
  const policy = { ...definition.retry, ...readOverrides(attempt) }
  const delayMs = retryDelayMs(policy, attempt.record.policyAttempt, fraction)
  const byPolicy: RetryPlan =
    delayMs === undefined ? { error: end.error } : { error: end.error, retryAt: now + delayMs }
  const { catchError } = definition.options
  if (catchError === undefined) return byPolicy
  try {
    const told = { ...hookContext(attempt), error: end.error }
    const answer = await catchError(delayMs === undefined ? told : { ...told, retryDelayInMs: delayMs })
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
      retryAt: readRetry('retryAt', retryAt instanceof Date ? retryAt.getTime() : retryAt, now),
    }
  }
  if (retryDelayInMs === undefined) return { ...byPolicy, error }
  return { error, retryAt: now + readRetry('retryDelayInMs', retryDelayInMs, 0) }
}

/** A whole number of milliseconds, at least `least`; anything else would be a run that never comes back. */
function readRetry(name: string, value: unknown, least: number): number {
  if (typeof value === 'number' && Number.isFinite(value)) return Math.max(least, Math.round(value))
  throw new RangeError(`Cannot retry: catchError answered ${name} ${String(value)}`)
}

/** The part of a hook's argument that all hooks have. */
export function hookContext(attempt: Attempt): HookContext<unknown> {
  return { payload: attempt.payload, ctx: contextOf(attempt), signal: attempt.signal }
}

/** The options of the task that the trigger of this run overrides. */
export function readOverrides(attempt: Attempt): RunOverrides {
  // Only newRun writes these.
  return fromJson(attempt.record.optionsJson) ?? {}
}

/** `ctx`: the run and the attempt, as the task sees them. */
function contextOf({ record }: Attempt): RunContext {
  return {
    run: {
      id: record.id,
      tags: record.tags,
      createdAt: new Date(record.createdAt),
      startedAt: new Date(record.startedAt ?? record.createdAt),
      ...(record.parentId === undefined ? {} : { parentId: record.parentId }),
      rootId: record.rootId,
    },
    task: { id: record.taskId },
    attempt: { number: record.attempt, policyNumber: record.policyAttempt },
  }
}

/** The second argument of `run`: made for every attempt, worked out only when read. */
export class AttemptTools implements RunTools {
  readonly #attempt: Attempt
  #ctx: RunContext | undefined

  constructor(attempt: Attempt) {
    this.#attempt = attempt
  }

  get ctx(): RunContext {
    return (this.#ctx ??= contextOf(this.#attempt))
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get wait(): WaitNamespace {
    return this.#attempt.kernel.namespaces.wait
  }

  get metadata(): MetadataNamespace {
    return this.#attempt.kernel.namespaces.metadata
  }

  get runs(): RunsNamespace {
    return this.#attempt.kernel.namespaces.runs
  }

  get tasks(): TasksNamespace {
    return this.#attempt.kernel.namespaces.tasks
  }

  get streams(): StreamsNamespace {
    return this.#attempt.kernel.namespaces.streams
  }
}
