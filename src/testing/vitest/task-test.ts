import { expect, test, type TestAPI, type TestOptions } from 'vitest'
import type { OptionNames } from '../../primitives/require.ts'
import { createTestEngine, type TestEngineOptions } from '../create-test-engine.ts'
import type { TestEngine } from '../fixture/test-engine.ts'
import { matchers } from './matchers.ts'

/** The argument of a test body. */
export interface TaskTestContext {
  /** An engine in virtual time for this test alone. It is closed after the test; unfinished work is an error. */
  readonly t: TestEngine
}

export type TaskTestBody = (context: TaskTestContext) => unknown

/** Options of vitest for one test. Its `retry` is not among them: that is an option of the engine. */
export type RunnerOptions = Pick<TestOptions, 'timeout' | 'concurrent' | 'only' | 'skip' | 'todo' | 'fails'>

/** Options of one test: those of its engine, and those of vitest. */
export type TaskTestOptions = TestEngineOptions & RunnerOptions

/** The ways to define a test, which can be combined: `taskTest.concurrent.only`. */
type Variant = 'only' | 'skip' | 'concurrent' | 'sequential' | 'todo' | 'fails'

/** Defines a test with its own engine. */
export interface DefineTaskTest {
  (name: string, body?: TaskTestBody): void
  (name: string, options: TaskTestOptions, body?: TaskTestBody): void
  readonly only: DefineTaskTest
  readonly skip: DefineTaskTest
  /** Runs concurrently with other tests; engines share nothing. */
  readonly concurrent: DefineTaskTest
  readonly sequential: DefineTaskTest
  readonly todo: DefineTaskTest
  readonly fails: DefineTaskTest
  /** A test for each case. The body gets the case and the engine. */
  for<Case>(
    cases: readonly Case[],
  ): (name: string, body: (one: Case, context: TaskTestContext) => unknown) => void
  /** A test for each case. The body gets the case alone, as vitest has it; use `for` where it needs the engine. */
  each<Case>(
    cases: readonly Case[],
  ): (name: string, body: (...args: Case extends readonly unknown[] ? Case : [Case]) => unknown) => void
  skipIf(condition: unknown): DefineTaskTest
  runIf(condition: unknown): DefineTaskTest
}

/** Defines a test with its own engine, with variants. */
export interface TaskTest extends DefineTaskTest {
  /** A variant with default options. Options of a test override them. */
  with(options: TestEngineOptions): TaskTest
}

const RUNNER_NAMES: OptionNames<RunnerOptions> = {
  timeout: true,
  concurrent: true,
  only: true,
  skip: true,
  todo: true,
  fails: true,
}

const VARIANTS: readonly string[] = [
  'only',
  'skip',
  'concurrent',
  'sequential',
  'todo',
  'fails',
] satisfies readonly Variant[]

/**
 * The `test` of vitest, extended by an engine in virtual time (`test.extend({ t })`) and by the matchers of this entry. It
 * has `only`, `skip`, `concurrent`, `for` and `each`, too. See docs/testing.md.
 *
 * @example
 * ```ts
 * taskTest('takes an answer within the day', { tasks: [review] }, async ({ t }) => {
 *   const run = await t.engine.trigger(review, { doc: 'd1' })
 *   await t.complete({ tag: 'review' }, { approved: true }, { at: '+23h' })
 *   expect(await run.result()).toBe('published')
 * })
 * ```
 */
export const taskTest: TaskTest = taskTestWith({})

function taskTestWith(options: TestEngineOptions): TaskTest {
  const more = { with: (others: TestEngineOptions) => taskTestWith({ ...options, ...others }) }
  return defining({ test: testOn(options), options, path: [], more }) as TaskTest
}

/** The `test` of vitest whose tests get an engine with these options. */
function testOn(options: TestEngineOptions): TestAPI<TaskTestContext> {
  return test.extend<TaskTestContext>({
    // vitest reads from the parameter which fixtures this one uses.
    t: async ({ task }, use) => {
      expect.extend(matchers)
      const t = await createTestEngine(options)
      await use(t)
      // What the test threw says more than the unfinished work that it causes.
      await t.close().catch((error: unknown) => {
        if (task.result?.state !== 'fail') throw error
      })
    },
  })
}

interface Defining {
  readonly test: TestAPI<TaskTestContext>
  readonly options: TestEngineOptions
  /** The variants that were chosen to get here. */
  readonly path: readonly Variant[]
  readonly more: Readonly<Record<string, unknown>>
}

/** A `test` of vitest that takes options of an engine, too. All else is as vitest has it. */
function defining({ test: extended, options, path, more }: Defining): DefineTaskTest {
  const define = (name: string, ...rest: readonly unknown[]): void => {
    const given = rest.find((one) => typeof one === 'object' && one !== null) ?? {}
    const body = rest.find((one) => typeof one === 'function') as TaskTestBody | undefined
    const { engine, runner } = split(given)
    const own = Object.keys(engine).length === 0 ? extended : testOn({ ...options, ...engine })
    variant(own, path)(name, runner, body)
  }
  return new Proxy(variant(extended, path), {
    apply: (_test, _this, [name, ...rest]: [string, ...unknown[]]) => define(name, ...rest),
    get(test_, key) {
      if (typeof key === 'string' && key in more) return more[key]
      if (!isVariant(key)) return Reflect.get(test_, key) as unknown
      return defining({ test: extended, options, path: [...path, key], more: {} })
    },
  }) as unknown as DefineTaskTest
}

function isVariant(key: string | symbol): key is Variant {
  return typeof key === 'string' && VARIANTS.includes(key)
}

function variant(of: TestAPI<TaskTestContext>, path: readonly Variant[]): TestAPI<TaskTestContext> {
  // Each variant of a test is a test.
  return path.reduce((one, name) => one[name] as TestAPI<TaskTestContext>, of)
}

/** Tells the options of vitest from those of the engine, which refuses names that it does not know. */
function split(given: object): { readonly engine: TestEngineOptions; readonly runner: RunnerOptions } {
  const entries = Object.entries(given)
  const engine = entries.filter(([name]) => !(name in RUNNER_NAMES))
  const runner = entries.filter(([name]) => name in RUNNER_NAMES)
  return { engine: Object.fromEntries(engine), runner: Object.fromEntries(runner) }
}
