import { requireSeed, seededRandom } from '../clock/seeded-random.ts'
import { watchStalls } from '../clock/stall-watch.ts'
import type { TestClock } from '../clock/test.ts'
import type { Storage } from '../contract/storage.ts'
import type { Engine } from '../core/engine.ts'
import { createObservedEngine, inside } from '../core/inside.ts'
import { ENGINE_OPTION_NAMES, type EngineOptions } from '../api/engine-options.ts'
import {
  type OptionNames,
  requireFlag,
  requireList,
  requireMethods,
  requireObject,
  requireOptions,
} from '../primitives/require.ts'
import { chosenStorage } from './storages/chosen.ts'

import { fakeGlobals } from './fixture/faked-globals.ts'
import { rememberingClock } from './fixture/kept-records.ts'
import { LooseEnds } from './fixture/loose-ends.ts'
import { observedStorage } from './storages/observed.ts'
import { ResumingStorage } from './storages/resuming.ts'
import { watchRequests } from './fixture/run-requests.ts'
import { StandIns } from './fixture/stand-ins.ts'
import { testClock, type TestClockOptions } from './test-clock.ts'
import type { TestEngine } from './fixture/test-engine.ts'
import { TokenAnswers } from './fixture/token-answers.ts'
import type { UnawaitedCalls } from './fixture/unawaited-calls.ts'
import { tokenPost } from './fixture/token-post.ts'
import { answeringClock } from './fixture/under-test.ts'
import { Witness } from './witness/witness.ts'
import { witnessedClock } from './witness/witnessed-clock.ts'
import { witnessedStorage } from './witness/witnessed-storage.ts'

/**
 * Options of `createTestEngine`: those of `createEngine`, a test clock, and a seed; all have defaults. Without a
 * `retention` nothing is forgotten. See docs/testing.md.
 */
export interface TestEngineOptions extends Omit<EngineOptions, 'clock'> {
  /**
   * A clock, or the options of a new one.
   *
   * @default a new one in mode `auto`
   */
  readonly clock?: TestClock | TestClockOptions
  /**
   * The seed of ids and jitter. Engines that share a database, but neither storage nor clock, need two.
   *
   * @default `1`
   */
  readonly seed?: number | string
  /**
   * Whether every run is executed anew from the top after each settled wait that it had parked for, as after a crash. It
   * is not counted as an interruption.
   *
   * @default `false`
   */
  readonly alwaysResume?: boolean
  /**
   * Whether task code, and nothing else, sees the time of the clock in `Date`, timers, `performance`, `Intl` and
   * `AbortSignal.timeout`, and the seed in `Math.random` and `crypto`.
   *
   * @default `false`
   */
  readonly fakeGlobals?: boolean
}

const NAMES: OptionNames<TestEngineOptions> = {
  ...ENGINE_OPTION_NAMES,
  storage: true,
  clock: true,
  seed: true,
  alwaysResume: true,
  fakeGlobals: true,
}

/**
 * Creates an engine in virtual time, ready for use. Its storage is in memory unless another one is given; ids and
 * jitter depend on the seed only. See docs/testing.md.
 *
 * `WAITPOINT_STORAGE` selects the default storage: `memory-async` answers every call with a promise, `sqlite` uses a
 * temporary file (Node 22.13 or later), `postgres` uses a schema in the database of `WAITPOINT_POSTGRES_URL`. Rejects
 * with the errors of `createEngine` and `testClock`, and with a failure of the storage.
 *
 * @example
 * ```ts
 * await using t = await createTestEngine({ tasks: [review] })
 * const run = await t.engine.trigger(review, { doc: 'd1' })
 * await t.complete({ tag: 'review' }, { approved: true }, { at: '+23h' })
 * await run.result()
 * ```
 */
export async function createTestEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  const { seed, clockOption, storage } = readOptions(options)
  watchStalls()
  const isOwnClock = !isClock(clockOption)
  const clock = isOwnClock ? testClock(clockOption) : clockOption
  // Engines that share a storage or a clock must not create the same ids.
  const random = seededRandom(`${seed} ${countUse(storage)} ${countUse(clock)}`)
  const witness = witnessOf(storage)
  const looseEnds = new LooseEnds(witness)
  const mayTimeOut = isOwnClock && clockOption.onUnanswered === 'timeout'
  const standIns = new StandIns(options.tasks ?? [])
  const engine = createObservedEngine(
    {
      clock: answeringClock(rememberingClock(witnessedClock(clock, witness), options), () => ({
        t,
        unanswered: (runId) => (mayTimeOut ? undefined : witness.unanswered(runId)),
      })),
      storage: looseEnds.watchStorage(wrapped({ storage, clock, witness }, options, () => engine)),
      random,
    },
    { ...plainOptions(options), tasks: standIns.tasks },
    looseEnds.observer,
  )
  const unwatch = watchRequests(engine, { clock, graceMs: requestGraceMs(clockOption) })
  const unfake = options.fakeGlobals === true ? fakeGlobals(engine, { clock, random }) : undefined

  let closed: Promise<void> | undefined
  const close = async (): Promise<void> => {
    const left = looseEnds.error
    try {
      await engine.close()
    } finally {
      unfake?.()
      unwatch()
    }
    if (isOwnClock) await clock[Symbol.asyncDispose]()
    if (left !== undefined) throw left
  }
  const closeOnce = (): Promise<void> => (closed ??= close())
  const answers = new TokenAnswers({ engine, clock, witness })
  const t: TestEngine = {
    engine,
    clock: isOwnClock ? watchedClock(clock, looseEnds.calls) : clock,
    calls(task) {
      const calls = standIns.calls(task)
      looseEnds.seen(calls.map(({ runId }) => runId))
      return calls
    },
    mock: (task, mock) => standIns.mock(task, mock),
    complete: looseEnds.calls.watched('t.complete', (token, output, answerOptions) =>
      answers.complete(token, output, answerOptions),
    ),
    waitingToken: looseEnds.calls.watched('t.waitingToken', (token) => answers.waitingToken(token)),
    post: looseEnds.calls.watched('t.post', tokenPost(engine)),
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  }
  await engine.ready()
  return t
}

/** The clock as the test calls it. */
function watchedClock(clock: TestClock, calls: UnawaitedCalls): TestClock {
  return {
    ...clock,
    settle: calls.watched('t.clock.settle', (options) => clock.settle(options)),
    advance: calls.watched('t.clock.advance', (duration, options) => clock.advance(duration, options)),
    advanceTo: calls.watched('t.clock.advanceTo', (instant, options) => clock.advanceTo(instant, options)),
    next: calls.watched('t.clock.next', (options) => clock.next(options)),
    runAll: calls.watched('t.clock.runAll', (options) => clock.runAll(options)),
    jump: calls.watched('t.clock.jump', (duration, options) => clock.jump(duration, options)),
    setWall: calls.watched('t.clock.setWall', (instant, options) => clock.setWall(instant, options)),
  }
}

function readOptions(options: TestEngineOptions): {
  readonly seed: number | string
  readonly clockOption: TestClock | TestClockOptions
  readonly storage: Storage
} {
  requireOptions(options, 'the options of createTestEngine', NAMES)
  requireFlag(options.alwaysResume, 'alwaysResume')
  requireFlag(options.fakeGlobals, 'fakeGlobals')
  const { seed = 1, clock: clockOption = {}, storage = chosenStorage() } = options
  requireSeed(seed)
  requireObject(clockOption, 'clock')
  requireMethods(storage, 'storage', ['open'])
  if (options.tasks !== undefined) requireList(options.tasks, 'tasks')
  return { seed, clockOption, storage }
}

interface TestPorts {
  readonly storage: Storage
  readonly clock: TestClock
  readonly witness: Witness
}

/** The storage as the engine sees it. */
function wrapped(
  { storage, clock, witness }: TestPorts,
  options: TestEngineOptions,
  engine: () => Engine,
): Storage {
  const { alwaysResume = false } = options
  const witnessed = witnessedStorage(observedStorage(storage, clock), witness)
  if (!alwaysResume) return witnessed
  const restarts = restartsOn(storage)
  return new ResumingStorage({ storage: witnessed, restarts, inside: () => inside(engine()) }).storage
}

/** The options that belong to `createEngine`. */
function plainOptions(options: TestEngineOptions): EngineOptions {
  const { clock: _clock, seed: _seed, alwaysResume: _resume, ...rest } = options
  const { fakeGlobals: _fake, ...engineOptions } = rest
  return engineOptions
}

/** So long a request holds time; the error that time stands still for long must not come before. */
function requestGraceMs(option: TestClock | TestClockOptions): number {
  const { ioGraceMs = 1_000, standstillMs = 3_000 } = isClock(option) ? {} : option
  return Math.min(ioGraceMs, standstillMs / 2)
}

function isClock(option: TestClock | TestClockOptions): option is TestClock {
  return 'setTimer' in option
}

const uses = new WeakMap<object, number>()

/** The number of earlier calls of createTestEngine with `port`. */
function countUse(port: object): number {
  const count = uses.get(port) ?? 0
  uses.set(port, count + 1)
  return count
}

const restartsByStorage = new WeakMap<Storage, Map<string, number>>()

/** Engines on one storage share the attempts of a run. */
function restartsOn(storage: Storage): Map<string, number> {
  const restarts = restartsByStorage.get(storage) ?? new Map<string, number>()
  restartsByStorage.set(storage, restarts)
  return restarts
}

const witnesses = new WeakMap<Storage, Witness>()

/** Engines on one storage share a witness. */
function witnessOf(storage: Storage): Witness {
  const witness = witnesses.get(storage) ?? new Witness()
  witnesses.set(storage, witness)
  return witness
}
