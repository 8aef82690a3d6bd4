import type { Awaitable, Unsubscribe } from '../../contract/storage.ts'
import type { Engine } from '../../core/engine.ts'
import type { AnyTask, TaskOutput, TaskPayload } from '../../api/run.ts'
import { currentAttempt } from '../../core/attempt/attempt.ts'
import type { CompletedToken, TokenReference } from '../../api/token.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { parseDuration } from '../../primitives/duration.ts'
import { type AnswerInstant, readInstant } from '../fixture/answer-instant.ts'
import type { StandIns, TaskCall, TaskMock } from '../fixture/stand-ins.ts'
import { loadCreateHandler, postJson } from '../fixture/token-post.ts'
import { callerName } from './boundary-storage.ts'
import type { Process } from './process.ts'
import { NoTokenError, type QuestionDesk, type TokenChoice, type WaitingToken } from './question-desk.ts'
import { SurvivingEngine } from './surviving-engine.ts'
import type { World } from './world.ts'

/** Time in a schedule. It passes by itself; which of two things happens first is explored. */
export interface ScheduleClock {
  now(): number
  /** Resolves after a duration of virtual time; in task code it stands for real I/O of that length. */
  sleep(duration: number | string): Promise<void>
}

/** What the body of an exploration works with. */
export interface ExplorationTools {
  /**
   * The engine. After a crash it is a new one on the same storage: calls that were cut off are made again, handles go
   * on, what the body creates carries an idempotency key. So a body is written once, and works with and without crashes;
   * as in every client that repeats its calls, the `success` of a completion may be false because an earlier try won.
   */
  readonly engine: Engine
  /** An engine without tasks in another process on the same storage, which never crashes: who answers from elsewhere. */
  readonly elsewhere: Engine
  readonly clock: ScheduleClock
  /** Adds tasks that are made in the body, before anything else is asked of the engine. */
  use(...tasks: readonly AnyTask[]): void
  /** All calls of a task in this schedule so far, in order; those that a crash cut off have no outcome. */
  calls<Called extends AnyTask>(task: Called): readonly TaskCall<TaskPayload<Called>, TaskOutput<Called>>[]
  /** Calls `mock` instead of the task's own function, until what this answers is called. */
  mock<Mocked extends AnyTask>(
    task: Mocked,
    mock: TaskMock<TaskPayload<Mocked>, TaskOutput<Mocked>>,
  ): Unsubscribe
  /**
   * Posts a JSON body, or none, to the URL of a token, through the HTTP handler and without a port; again when a crash or
   * a fault comes between.
   */
  post(url: string, body?: unknown): Promise<Response>
  /** Something in the outside world: its effect happens between two boundaries, and a crash may come before or after. */
  step<T = void>(name: string, effect?: () => Awaitable<T>): Promise<T>
  /** The exploration fails if `condition` was true in none of its schedules. */
  sometimes(name: string, condition: boolean): void
  /** The oldest token that waits for an answer, as soon as there is one. */
  waitingToken(filter?: TokenChoice): Promise<WaitingToken>
  /**
   * Completes a token, or the oldest that waits of those with a tag; `at` says when: `'+23h'` from now, or an instant.
   * Nothing, when no such token ever comes: the run that would have made it failed.
   */
  complete(
    token: TokenReference | TokenChoice,
    output?: unknown,
    options?: { readonly at?: AnswerInstant | undefined },
  ): Promise<CompletedToken | undefined>
  /** The process dies, here and now, and another one starts on its storage. */
  crash(): void
  /** Declares real I/O: nothing else goes on until the promise settles. Answers the same promise. */
  external<T>(promise: Promise<T>): Promise<T>
}

export interface BodyToolsOptions {
  readonly world: World
  readonly desk: QuestionDesk
  readonly standIns: StandIns
  readonly mayRepeat: boolean
  readonly sometimes: (name: string, condition: boolean) => void
}

/** Makes what a body works with. */
export function bodyTools(options: BodyToolsOptions): ExplorationTools {
  const { world, desk, standIns, mayRepeat, sometimes } = options
  const surviving = new SurvivingEngine(world, mayRepeat)
  const { engine } = surviving
  const clock: ScheduleClock = {
    now: () => world.timers.now,
    sleep: (duration) => sleep(world, duration),
  }
  return {
    engine,
    get elsewhere() {
      return world.elsewhere
    },
    clock,
    sometimes,
    use(...added) {
      if (world.processes.some(({ isMain }) => isMain))
        throw new Error('Cannot add a task: the engine was used before, call `t.use` first')
      standIns.add(added)
    },
    calls: (task) => standIns.calls(task),
    mock: (task, mock) => standIns.mock(task, mock),
    async post(url, body) {
      // Loading takes real time.
      const createHandler = await world.boundaries.external(loadCreateHandler())
      for (;;) {
        const response = await surviving.survive((of) => postJson(createHandler(of), url, body))
        if (response.status !== 500 || !mayRepeat) return response
      }
    },
    step: <T = void>(name: string, effect?: () => Awaitable<T>) =>
      // Without an effect there is nothing to answer.
      world.step(name, effect ?? (() => undefined as T), callingProcess(world)),
    waitingToken: (filter = {}) => desk.waitingToken(filter),
    async complete(token, output, { at } = {}) {
      if (at !== undefined) await clock.sleep(readInstant(at, clock.now()) - clock.now())
      const found = isReference(token) ? token : await ifAny(desk.waitingToken(token))
      return found === undefined ? undefined : engine.wait.completeToken(found, output)
    },
    crash: () => world.crash(),
    external: (promise) => world.boundaries.external(promise),
  }
}

function isReference(token: TokenReference | TokenChoice): token is TokenReference {
  return typeof token === 'string' || 'id' in token
}

async function ifAny<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof NoTokenError) return undefined
    throw error
  }
}

/** The process of the task code that calls; none when it is the body. */
function callingProcess(world: World): Process | undefined {
  const attempt = currentAttempt()
  return attempt === undefined ? undefined : world.processOf(attempt.kernel)
}

async function sleep(world: World, duration: number | string): Promise<void> {
  const { promise, resolve } = createDeferred<undefined>()
  const at = world.timers.now + parseDuration(duration, 'duration')
  const process = callingProcess(world)
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
