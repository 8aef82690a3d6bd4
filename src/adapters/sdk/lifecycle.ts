import { AbortTaskRunError } from '../../api/errors.ts'
import type { CallEnd, HasRunPlace, RunPlace } from '../../api/run-place.ts'
import type { RetryDecision, RunTools } from '../../api/task.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { chain, rescue } from '../../primitives/awaitable.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { hostedContext, type TaskPlace, type TaskRunContext } from './context.ts'
import { type CurrentRun, inRun } from './current-run.ts'
import {
  type AnyHook,
  type AnyTaskHooks,
  type CatchErrorDecision,
  type HookName,
  type HookParams,
  hasGlobalHooks,
  hooksOf,
  type InitOutput,
  type RetryPolicy,
  type TaskWait,
} from './hooks.ts'
import { delayAfter } from './jitter.ts'
import { DEFAULT_POLICY } from './retry-policy.ts'
import type { RateLimitError } from './service-errors.ts'
import type { Untyped } from './untyped.ts'
import { encodeValue } from './values.ts'

/** A task as its attempts need it. */
export interface LivingTask extends TaskPlace {
  readonly id: string
  readonly run: (payload: Untyped, tools: Untyped) => Promise<unknown>
  readonly hooks: AnyTaskHooks
  readonly hasHooks: boolean
  readonly retry: RetryPolicy | undefined
  /** By the configuration: `catchError` is not asked, as in the hosted service. */
  readonly isNeverRetried: boolean
  /** Called when the execution of an attempt is over. */
  readonly over: (attempt: LivingAttempt) => void
}

const NEVER_RETRIED: Exclude<RetryDecision, void> = { skipRetrying: true }

/** What functions that the end of an attempt waits for are told, as in the hosted service: milliseconds. */
const TOLD_LIMIT_MS = 60_000

/** What the end of an attempt waits for: a function is called then. */
async function promiseOf(given: unknown): Promise<unknown> {
  return typeof given === 'function' ? (given as (timeoutInMs: number) => unknown)(TOLD_LIMIT_MS) : given
}

/** A task may be done before the rest of its function: this ends the run with an output. */
export class CompleteTaskWithOutput extends Error {
  readonly output: unknown

  constructor(output?: unknown) {
    super('The task was completed with an output')
    this.name = 'CompleteTaskWithOutput'
    this.output = output
  }
}

/** An attempt whose run function has failed: what remains to be done is up to the decision of the engine. */
interface Failure {
  readonly error: unknown
}

/**
 * One attempt of a task: middleware, `init`, `onStart`, `onStartAttempt`, the run function, `onSuccess` or `catchError` and
 * `onFailure`, `onComplete`, `cleanup`, the rest of the middleware. After a failure the middleware waits for the decision of
 * the engine, which knows the retry policy of the run.
 */
export class LivingAttempt implements CurrentRun {
  readonly place: RunPlace
  readonly #task: LivingTask
  readonly payload: unknown
  readonly #tools: RunTools
  /** The result of the run function, for `onCancel`; none without such a hook. */
  readonly #returned: Deferred<unknown> | undefined
  /** After a failure: settles when the engine has decided. */
  #decided: Deferred<void> | undefined
  #ctx: TaskRunContext | undefined
  #init: InitOutput = {}
  #waitUntil: Set<unknown> | undefined
  #numbers = 0
  #failure: Failure | undefined
  #middleware: Promise<void> | undefined

  constructor(task: LivingTask, payload: unknown, tools: RunTools & HasRunPlace) {
    this.place = tools.place
    this.#task = task
    this.payload = payload
    this.#tools = tools
    this.#returned = !this.#isPlain && this.#has('onCancel') ? createDeferred() : undefined
    this.#returned?.promise.catch(() => undefined)
  }

  get waitUntil(): Set<unknown> {
    return (this.#waitUntil ??= new Set())
  }

  /** Made when it is read, as the signal: many tasks read neither. */
  get ctx(): TaskRunContext {
    return (this.#ctx ??= hostedContext(this.#tools.ctx, this.#task))
  }

  get signal(): AbortSignal {
    return this.#tools.signal
  }

  nextNumber(): number {
    this.#numbers += 1
    return this.#numbers
  }

  /**
   * Calls the function, among its hooks. Without any the answer is that of the function, and the engine tells its end to
   * {@link ended}: such a task costs no promise of its own. Else it is the output as it is stored; rejects with the error that
   * the engine has to decide about.
   */
  execute(): unknown {
    if (this.#isPlain) return this.#callTask()
    return inRun(this, () => this.#amongHooks().finally(() => this.#task.over(this)))
  }

  /** The function has ended: the output as it is stored, or the error that the engine has to decide about. */
  ended({ ok, value }: CallEnd): Awaitable<CallEnd> {
    const settled = rescue(
      () =>
        chain(ok ? this.#returnedWith(value) : this.#threw(value), (stored): CallEnd => ({
          ok: true,
          value: stored,
        })),
      (error) => ({ ok: false, value: error }),
    )
    return chain(settled, (end) => {
      this.#task.over(this)
      return end
    })
  }

  get isToldOfCancel(): boolean {
    return this.#returned !== undefined
  }

  /** The engine has yet to decide what follows. */
  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Asks `catchError` whether another attempt follows, and ends this one. An error of a hook fails the run. */
  async decide(decided: FailedAttempt): Promise<RetryDecision> {
    const failure = this.#failure
    if (failure === undefined) return undefined
    const told = delayedByService(failure.error, decided)
    // All that is left to do for it is done here.
    this.#failure = undefined
    return this.#ending(async () => {
      const decision = this.#task.isNeverRetried
        ? NEVER_RETRIED
        : await this.#askCatchError(failure.error, told)
      const isRetried =
        decision === undefined ? told.retryDelayInMs !== undefined : decision.skipRetrying !== true
      if (isRetried) {
        await this.#cleanUp()
        return decision ?? (told === decided ? undefined : told)
      }
      const error = decision?.error ?? failure.error
      await this.#failed(error)
      return { skipRetrying: true, error }
    })
  }

  /** The run has failed without a question to `catchError`. */
  async fail(error: unknown): Promise<void> {
    if (this.#failure === undefined) return
    const shown = error === named(this.#failure.error) ? this.#failure.error : error
    await this.#ending(() => this.#failed(shown))
  }

  get hasWaitHooks(): boolean {
    return !this.#isPlain && (this.#has('onWait') || this.#has('onResume'))
  }

  async around<Result>(told: TaskWait | Promise<TaskWait>, started: Promise<Result>): Promise<Result> {
    // The hook may throw before it is awaited.
    started.catch(() => undefined)
    const wait = await told
    // As in the hosted service an error of these hooks changes nothing.
    await this.#call('onWait', { wait }).catch(nothing)
    const result = await started
    await this.#call('onResume', { wait }).catch(nothing)
    return result
  }

  #amongHooks(): Promise<unknown> {
    return this.#has('middleware') ? this.#inMiddleware() : this.#attempted()
  }

  /** The hooks before the run function, the function, and the hooks after it. */
  #attempted(): Promise<unknown> {
    const run = async (): Promise<unknown> => {
      let output: unknown
      try {
        output = await this.#callTask()
      } catch (error) {
        return this.#threw(error)
      }
      return this.#returnedWith(output)
    }
    return this.#prepare().then(run, (error: unknown) => this.#failedWith(error))
  }

  #callTask(): Promise<unknown> {
    return this.#task.run(this.payload, new RunParams(this, this.#init))
  }

  #returnedWith(output: unknown): Awaitable<unknown> {
    return rescue(
      () => this.#finish(output),
      (error) => this.#failedWith(error),
    )
  }

  #threw(error: unknown): Awaitable<unknown> {
    return isCompletion(error) ? this.#returnedWith(error.output) : this.#failedWith(error)
  }

  #failedWith(error: unknown): never {
    this.#failure = { error }
    this.#returned?.reject(error)
    throw named(error)
  }

  /** After a failure the middleware waits for the decision of the engine, which gets the error at once. */
  #inMiddleware(): Promise<unknown> {
    const ended = createDeferred<unknown>()
    let output: unknown
    const body = async (): Promise<void> => {
      try {
        output = await this.#attempted()
      } catch (error) {
        ended.reject(error)
        await this.#decision()
      }
    }
    this.#middleware = this.#wrapped(body)
    this.#middleware.then(() => ended.resolve(output), ended.reject)
    return ended.promise
  }

  /** The middleware around the body, from the outermost inwards. */
  #wrapped(body: () => Promise<void>): Promise<void> {
    const hooks = hooksOf('middleware', this.#task.hooks.middleware)
    const chain = hooks.reduceRight<() => Promise<void>>(
      (next, hook) => async () => {
        await hook({ ...this.#params, next })
      },
      body,
    )
    return chain()
  }

  async #prepare(): Promise<void> {
    // Those of the configuration first, as in the hosted service.
    for (const init of hooksOf('init', this.#task.hooks.init))
      this.#init = { ...this.#init, ...(await this.#callInit(init)) }
    // What is not there is not awaited.
    if (this.#has('onStart') && this.#tools.ctx.attempt.policyNumber === 1) await this.#call('onStart')
    if (this.#has('onStartAttempt')) await this.#call('onStartAttempt')
  }

  /** The output as it is stored, after the hooks. One that cannot be stored is a failure. */
  #finish(output: unknown): Awaitable<unknown> {
    const stored = encodeValue(output)
    this.#returned?.resolve(output)
    if (this.#waitUntil === undefined && this.#isPlain) return stored
    return this.#succeed(output).then(() => stored)
  }

  async #succeed(output: unknown): Promise<void> {
    if (this.#has('onSuccess')) await this.#settle('onSuccess', { output })
    if (this.#has('onComplete')) await this.#settle('onComplete', { result: { ok: true, data: output } })
    if (this.#has('cleanup') || this.#waitUntil !== undefined) await this.#cleanUp()
  }

  async #callInit(init: AnyHook): Promise<object> {
    const answer: unknown = await init(this.#params)
    if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return {}
    return answer
  }

  /** The task's own hook is asked first, as in the hosted service; the first answer counts. */
  async #askCatchError(
    error: unknown,
    { retryDelayInMs, retryAt }: FailedAttempt,
  ): Promise<Exclude<RetryDecision, void> | undefined> {
    const { catchError, handleError } = this.#task.hooks
    const own = handleError ?? catchError
    const params = {
      ...this.#params,
      init: this.#init,
      error,
      ...(this.#task.retry === undefined ? {} : { retry: this.#policy(this.#task.retry) }),
      ...(retryDelayInMs === undefined ? {} : { retryDelayInMs }),
      ...(retryAt === undefined ? {} : { retryAt }),
    }
    for (const hook of [...(own === undefined ? [] : [own]), ...hooksOf('catchError')]) {
      const answer = (await hook(params)) as CatchErrorDecision | undefined
      if (answer) return this.#decisionOf(answer, error)
    }
    return undefined
  }

  /** The whole policy, with the attempts that the trigger may have set. */
  #policy(retry: RetryPolicy): RetryPolicy {
    const { maxAttempts } = this.ctx.run
    return { ...DEFAULT_POLICY, ...retry, ...(maxAttempts === undefined ? {} : { maxAttempts }) }
  }

  /** The engine has decided. An attempt that is ended from outside gets no decision. */
  async #decision(): Promise<void> {
    const { signal } = this
    if (signal.aborted) return
    const decided = (this.#decided = createDeferred())
    signal.addEventListener('abort', () => decided.resolve(), { once: true })
    await decided.promise
  }

  /** An answer that names no delay fails the run. */
  #decisionOf(answer: CatchErrorDecision, error: unknown): Exclude<RetryDecision, void> {
    const { skipRetrying, retryAt, retryDelayInMs, retry } = answer
    const shown = { error: answer.error ?? error }
    if (skipRetrying === true) return { skipRetrying, ...shown }
    if (retryAt !== undefined) return { retryAt, ...shown }
    if (typeof retryDelayInMs === 'number') return { retryDelayInMs, ...shown }
    const delay = retry && delayAfter(retry, this.ctx.attempt.number, this.ctx.run.id)
    return delay === undefined ? { skipRetrying: true, ...shown } : { retryDelayInMs: delay, ...shown }
  }

  async #failed(error: unknown): Promise<void> {
    await this.#settle('onFailure', { error })
    await this.#settle('onComplete', { result: { ok: false, error } })
    await this.#cleanUp()
  }

  /** Does the last things of an attempt that has failed; the middleware goes on after that, and may fail it otherwise. */
  async #ending<Result>(end: () => Promise<Result>): Promise<Result> {
    try {
      return await end()
    } finally {
      this.#decided?.resolve()
      await this.#middleware
    }
  }

  async #cleanUp(): Promise<void> {
    await this.#call('cleanup')
    if (this.#waitUntil !== undefined) await Promise.allSettled(Array.from(this.#waitUntil, promiseOf))
  }

  /** There is no hook: most tasks are called and nothing else. */
  get #isPlain(): boolean {
    return !this.#task.hasHooks && !hasGlobalHooks()
  }

  #has(kind: HookName): boolean {
    return this.#task.hooks[kind] !== undefined || hooksOf(kind).length > 0
  }

  /** Calls hooks one after the other; the first one that throws ends it. */
  async #call(kind: HookName, more: object = {}): Promise<void> {
    for (const hook of hooksOf(kind, this.#task.hooks[kind]))
      await hook({ ...this.#params, init: this.#init, ...more })
  }

  /** Calls hooks whose errors change nothing. */
  async #settle(kind: HookName, more: object): Promise<void> {
    for (const hook of hooksOf(kind, this.#task.hooks[kind])) {
      try {
        await hook({ ...this.#params, init: this.#init, ...more })
      } catch {
        // As in the hosted service: the run is over.
      }
    }
  }

  /** Calls `onCancel`. To be called where calls of the engine work: those of the attempt have no effect any more. */
  async cancel(): Promise<void> {
    await this.#settle('onCancel', { runPromise: this.#returned?.promise })
  }

  get #params(): HookParams<Untyped> {
    const { ctx, signal } = this
    return { payload: this.payload, ctx, signal, task: this.#task.id }
  }
}

/**
 * The second argument of a run function. Its properties are its own, as in the hosted service: it may be spread. Hot, with
 * getters that all share: with some of its own each would have a shape of its own, which is collected late.
 */
class RunParams {
  declare readonly ctx: TaskRunContext
  declare readonly signal: AbortSignal
  readonly init: InitOutput
  readonly #attempt: LivingAttempt

  constructor(attempt: LivingAttempt, init: InitOutput) {
    this.#attempt = attempt
    Object.defineProperty(this, 'ctx', RunParams.#ctxProperty)
    Object.defineProperty(this, 'signal', RunParams.#signalProperty)
    this.init = init
  }

  static readonly #ctxProperty: TypedPropertyDescriptor<TaskRunContext> & ThisType<RunParams> = {
    enumerable: true,
    get() {
      return this.#attempt.ctx
    },
  }

  static readonly #signalProperty: TypedPropertyDescriptor<AbortSignal> & ThisType<RunParams> = {
    enumerable: true,
    get() {
      return this.#attempt.signal
    },
  }
}

function nothing(): void {
  // There is nothing to do.
}

/** By its name, as in the hosted service: its class may be that of another module. */
function isCompletion(error: unknown): error is CompleteTaskWithOutput {
  return error instanceof Error && error.name === 'CompleteTaskWithOutput'
}

/** What the engine tells of an attempt that failed. */
export interface FailedAttempt {
  readonly retryDelayInMs?: number
  readonly retryAt?: Date
}

/** Errors that the engine is to know, for those that are the hosted service's by their name only. */
const byName = new WeakMap<Error, AbortTaskRunError>()

/** Whether an error ends its run, as in the hosted service: by its name, and one of the service's API by its status. */
function endsRun(error: Error & { readonly status?: unknown; readonly skipRetrying?: unknown }): boolean {
  const { name, status, skipRetrying } = error
  if (name === 'AbortTaskRunError' || name === 'TaskPayloadParsedError') return true
  if (name === 'TriggerInternalError') return skipRetrying === true
  const isRefused = typeof status === 'number' && status >= 400 && status < 500
  return name === 'TriggerApiError' && isRefused && status !== 408 && status !== 429
}

/** After a call of the service's API that came too early, the next attempt is when the service allows one. */
function delayedByService(error: unknown, told: FailedAttempt): FailedAttempt {
  const { name, status, millisecondsUntilReset } = (error ?? {}) as Partial<RateLimitError>
  const { retryDelayInMs, retryAt } = told
  const isTooEarly = name === 'TriggerApiError' && status === 429
  if (!isTooEarly || !millisecondsUntilReset || !retryDelayInMs || retryAt === undefined) return told
  return {
    retryDelayInMs: millisecondsUntilReset,
    retryAt: new Date(retryAt.getTime() - retryDelayInMs + millisecondsUntilReset),
  }
}

/** The error as the engine gets it: one that ends the run is an `AbortTaskRunError` with its name. */
function named(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AbortTaskRunError || !endsRun(error)) return error
  const known = byName.get(error)
  if (known !== undefined) return known
  const abort = new AbortTaskRunError(error.message, { cause: error })
  abort.name = error.name
  byName.set(error, abort)
  return abort
}
