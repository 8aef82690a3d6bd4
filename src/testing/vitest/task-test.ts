import { expect, test } from 'vitest'
import { createTestEngine, type TestEngineOptions } from '../create-test-engine.ts'
import type { TestEngine } from '../fixture/test-engine.ts'
import { matchers } from './matchers.ts'

/** The argument of a test body. */
export interface TaskTestContext {
  /** An engine in virtual time for this test alone. It is closed after the test; unfinished work is an error. */
  readonly t: TestEngine
}

export type TaskTestBody = (context: TaskTestContext) => unknown

/** Defines a test with its own engine. */
export interface DefineTaskTest {
  (name: string, body: TaskTestBody): void
  (name: string, options: TestEngineOptions, body: TaskTestBody): void
}

/** Defines a test with its own engine, with variants. */
export interface TaskTest extends DefineTaskTest {
  /** Runs concurrently with other tests; engines share nothing. */
  readonly concurrent: DefineTaskTest
  /** A variant with default options. Options of a test override them. */
  with(options: TestEngineOptions): TaskTest
}

/**
 * A vitest test with an engine in virtual time, and with the matchers of this entry. See docs/testing.md.
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
    // Repeated calls are harmless.
    expect.extend(matchers)
    define(name, () => runTaskTest({ ...options, ...own }, body))
  }
}

/** Runs a test body with its engine. An error of the body takes precedence over unfinished work, which it causes. */
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
