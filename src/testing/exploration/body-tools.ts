import type { Awaitable, Unsubscribe } from '../../contract/storage.ts'
import type { Engine } from '../../core/engine.ts'
import type { AnyTask, TaskOutput, TaskPayload } from '../../api/run.ts'
import type { CompletedToken, TokenReference } from '../../api/token.ts'
import { chain } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import {
  requireFlag,
  requireFunction,
  requireName,
  requireObject,
  requireOptions,
} from '../../primitives/require.ts'
import { parseDuration } from '../../primitives/duration.ts'
import { readInstant } from '../fixture/answer-instant.ts'
import type { AnswerOptions } from '../fixture/token-answers.ts'
import type { StandIns, TaskCall, TaskMock } from '../fixture/stand-ins.ts'
import { loadCreateHandler, postJson } from '../fixture/token-post.ts'
import { callerName } from './boundary-storage.ts'
import type { NodeApp } from './node-app.ts'
import { isSynchronous, OutsideClient } from './outside-client.ts'
import { NoTokenError, type QuestionDesk, type TokenChoice, type WaitingToken } from './question-desk.ts'
import { type FetchApp, type ServedApp, serveApp, type ServedFetch } from './served-app.ts'
import { SurvivingEngine } from './surviving-engine.ts'
import type { StartedEngineOptions, World } from './world.ts'

/** Time in a schedule. It passes by itself; the order of events is explored. */
export interface ScheduleClock {
  now(): number
  /** Resolves after a duration of virtual time. In task code it stands for real I/O of that length. */
  sleep(duration: number | string): Promise<void>
}

/** The tools of the body of an exploration. See docs/exploring.md. */
export interface ExplorationTools {
  /**
   * The engine. After a crash, calls that were cut off are repeated on a new engine with the same storage; handles
   * continue, and objects created by the body carry an idempotency key. So a body is written once and works with and
   * without crashes. As with every client that repeats calls, `success` of a completion may be false because an earlier
   * attempt of that call won.
   */
  readonly engine: Engine
  /**
   * An engine without tasks in another process on the same storage, which never crashes. It can answer tokens from
   * elsewhere. Calls that a fault failed are repeated.
   */
  readonly elsewhere: Engine
  /**
   * Starts another engine on the same storage, in a process of its own, which may crash and stand still like that of `engine`. It
   * has the tasks and options of the exploration, and yours: `t.startEngine('web', { execute: false })`. Stories name it.
   */
  startEngine(name: string, options?: StartedEngineOptions): Engine
  readonly clock: ScheduleClock
  /** Adds tasks defined in the body. Call it before any other use of the engine. */
  use(...tasks: readonly AnyTask[]): void
  /** All calls of a task in this schedule so far, in order. Calls cut off by a crash have no outcome. */
  calls<Called extends AnyTask>(task: Called): readonly TaskCall<TaskPayload<Called>, TaskOutput<Called>>[]
  /** Calls `mock` instead of the task's function. The returned function ends the replacement. */
  mock<Mocked extends AnyTask>(
    task: Mocked,
    mock: TaskMock<TaskPayload<Mocked>, TaskOutput<Mocked>>,
  ): Unsubscribe
  /**
   * Posts a JSON body, or none, to the URL of a token, through the HTTP handler without a port. Repeats the request
   * after a crash or a fault.
   */
  post(url: string, body?: unknown): Promise<Response>
  /**
   * An action in the outside world. Its effect happens between two boundaries, and a crash may come before or after it.
   */
  step<T = void>(name: string, effect?: () => Awaitable<T>): Promise<T>
  /** Makes the exploration fail if `condition` was true in none of its schedules. */
  sometimes(name: string, condition: boolean): void
  /** Resolves with the oldest token that waits for an answer, as soon as there is one. */
  waitingToken(filter?: TokenChoice): Promise<WaitingToken>
  /**
   * Completes a token, or the oldest waiting token with a tag. `at` is the instant: `'+23h'` from now, or absolute.
   * Resolves with `undefined` if no such token appears, because its run failed.
   */
  complete(
    token: TokenReference | TokenChoice,
    output?: unknown,
    options?: AnswerOptions,
  ): Promise<CompletedToken | undefined>
  /**
   * Serves an HTTP application in the process of an engine, `engine` by default, without a port: `create` makes it, for each
   * engine that is started. The returned `fetch` rejects as a real one if the process dies, or if the fault `lost-response` loses
   * the response.
   */
  serve(create: (engine: Engine) => FetchApp, engine?: Engine): ServedFetch
  /** Serves a listener of Node, such as an application of Express. Its response arrives whole. */
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- a union would leave the parameters of a handler without types
  serve(create: (engine: Engine) => NodeApp, engine?: Engine): ServedFetch
  /**
   * A client of something outside, such as a database, whose every call is a step of the code that makes it: other events come
   * before and after, and a crash of its process. What a transaction has not committed is rolled back at a crash. The calls of a
   * synchronous client, as SQLite has, take effect at once; a crash of one throws `ProcessCrashedError`.
   */
  outside<Client extends object>(name: string, client: Client, options?: { readonly sync?: boolean }): Client
  /**
   * Calls `hook` after a crash, before the engine of that name is started anew: reset here what a process loses, such as
   * variables of a module. Tasks that it answers, of a module that it imports again, replace those of the engine.
   */
  onRestart(hook: (engine: string) => Awaitable<readonly AnyTask[] | undefined | void>): void
  /** Crashes the process of an engine immediately, and starts another one on its storage. Without an engine: that of `engine`. */
  crash(engine?: Engine): void
  /**
   * The process of an engine stands still: its calls are held, its timers do not fire, and time passes. Without a duration it is
   * twice its lease, so that another engine takes its runs over.
   */
  pause(engine: Engine, duration?: number | string): void
  /** Declares real I/O: nothing else happens until the promise settles. Returns the promise. */
  external<T>(promise: Promise<T>): Promise<T>
}

export interface BodyToolsOptions {
  readonly world: World
  readonly desk: QuestionDesk
  readonly standIns: StandIns
  readonly mayRepeat: boolean
  readonly sometimes: (name: string, condition: boolean) => void
}

/** Creates the tools of a body. */
export function bodyTools(options: BodyToolsOptions): ExplorationTools {
  const { world, desk, standIns, mayRepeat, sometimes } = options
  const engine = new SurvivingEngine(world, { mayRepeat, name: 'engine' })
  const elsewhere = new SurvivingEngine(world, { mayRepeat, name: 'elsewhere' })
  const named = new Map<Engine, string>([[engine, 'engine']])
  const nameOf = (given: Engine): string => {
    const name = named.get(given)
    if (name === undefined)
      throw new TypeError(
        'Cannot crash or pause this engine: give `t.engine` or an engine of `t.startEngine`',
      )
    return name
  }
  const clock: ScheduleClock = {
    now: () => world.timers.now,
    sleep: (duration) => sleep(world, duration),
  }
  return {
    engine,
    elsewhere,
    clock,
    sometimes,
    startEngine(name, options = {}) {
      world.startEngine(name, {
        ...options,
        ...(options.tasks === undefined ? {} : { tasks: standIns.of(options.tasks) }),
      })
      const started = new SurvivingEngine(world, { mayRepeat, name })
      named.set(started, name)
      return started
    },
    use(...added) {
      if (world.processes.some(({ isMortal }) => isMortal))
        throw new Error('Cannot add a task: the engine was used before, call `t.use` first')
      standIns.add(added)
    },
    calls: (task) => standIns.calls(task),
    mock: (task, mock) => standIns.mock(task, mock),
    async post(url, body) {
      // Loading takes real time.
      const createHandler = await world.boundaries.load(loadCreateHandler())
      for (;;) {
        const answered = await engine.survive((of) => postJson(createHandler(of), url, body))
        const response = await ifArrived(world.response('a POST to the URL of a token', answered))
        if (response !== undefined && (response.status !== 500 || !mayRepeat)) return response
      }
    },
    serve: (create: (engine: Engine) => ServedApp, served: Engine = engine) =>
      serveApp(world, nameOf(served), create),
    outside(name, client, options = {}) {
      requireName(name, 'the name of a client')
      requireObject(client, 'the client')
      requireOptions(options, 'the options of the client', { sync: true })
      requireFlag(options.sync, 'sync')
      return new OutsideClient(world, { name, isSync: options.sync ?? isSynchronous(client) }).of(client)
    },
    onRestart(hook) {
      const given: unknown = hook
      requireFunction(given ?? null, 'hook')
      world.onCrash((name) =>
        chain(hook(name), (tasks) => (tasks === undefined ? undefined : standIns.of(tasks))),
      )
    },
    step: <T = void>(name: string, effect?: () => Awaitable<T>) =>
      // A step without an effect has no result.
      world.step(name, effect ?? (() => undefined as T), world.process),
    waitingToken: (filter = {}) => desk.waitingToken(filter),
    async complete(token, output, { at, by } = {}) {
      if (at !== undefined) await clock.sleep(readInstant(at, clock.now()) - clock.now())
      const found = isReference(token) ? token : await ifAny(desk.waitingToken(token))
      if (found === undefined) return undefined
      return engine.wait.completeToken(found, output, by === undefined ? {} : { by })
    },
    crash: (crashed = engine) => world.crash(nameOf(crashed)),
    pause: (paused, duration) => {
      const durationMs = duration === undefined ? undefined : parseDuration(duration, 'duration')
      world.pause(nameOf(paused), durationMs)
    },
    external: (promise) => world.boundaries.external(promise),
  }
}

function isReference(token: TokenReference | TokenChoice): token is TokenReference {
  return typeof token === 'string' || 'id' in token
}

async function ifArrived(response: Promise<Response>): Promise<Response | undefined> {
  try {
    return await response
  } catch {
    return undefined
  }
}

async function ifAny<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof NoTokenError) return undefined
    throw error
  }
}

async function sleep(world: World, duration: number | string): Promise<void> {
  const { promise, resolve } = createDeferred<undefined>()
  const at = world.timers.now + parseDuration(duration, 'duration')
  const { process } = world
  if (process?.isDead === true) return new Promise<never>(() => undefined)
  process?.fallAsleep()
  world.timers.set(() => resolve(undefined), {
    at,
    label: `${callerName(world.names)} slept ${duration}`,
    process,
  })
  await promise
  process?.wakeUp()
}
