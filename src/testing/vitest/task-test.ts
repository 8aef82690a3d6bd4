import { expect, test } from 'vitest'
import { createTestEngine, type TestEngineOptions } from '../create-test-engine.ts'
import type { TestEngine } from '../fixture/test-engine.ts'
import { matchers } from './matchers.ts'

/** What a test gets. */
export interface TaskTestContext {
  /** An engine in virtual time, of this test alone. It is closed after the test: what is left of it is an error. */
  readonly t: TestEngine
}

export type TaskTestBody = (context: TaskTestContext) => unknown

/** Defines a test with an engine of its own. */
export interface DefineTaskTest {
  (name: string, body: TaskTestBody): void
  (name: string, options: TestEngineOptions, body: TaskTestBody): void
}

/** The same, in its variants. */
export interface TaskTest extends DefineTaskTest {
  /** Beside other tests: engines share nothing. */
  readonly concurrent: DefineTaskTest
  /** With options for all of its tests; those of one test come first. */
  with(options: TestEngineOptions): TaskTest
}

/**
 * A vitest test with an engine in virtual time, and with the matchers of this entry.
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
  return Object.assign(definer(test, options), {
    concurrent: definer(test.concurrent, options),
    with: (more: TestEngineOptions) => taskTestWith({ ...options, ...more }),
  })
}

type Define = (name: string, body: () => Promise<void>) => void

function definer(define: Define, options: TestEngineOptions): DefineTaskTest {
  return (name: string, ...rest: readonly [TaskTestBody] | readonly [TestEngineOptions, TaskTestBody]) => {
    const [own, body] = rest.length === 1 ? [{}, rest[0]] : rest
    // Once is enough, and more often does no harm.
    expect.extend(matchers)
    define(name, () => runTaskTest({ ...options, ...own }, body))
  }
}

/** Gives a test its engine. What the test throws comes before what is left of it: it is the reason. */
export async function runTaskTest(options: TestEngineOptions, body: TaskTestBody): Promise<void> {
  const t = await createTestEngine(options)
  try {
    await body({ t })
  } catch (error) {
    await t.close().catch(() => undefined)
    throw error
  }
  await t.close()
}
