import type { Clock } from '../contract/clock.ts'
import { TestError } from './test-error.ts'
import type { TestEngine } from './test-engine.ts'

/** What `trigger` answers, as far as a matcher needs it. */
export interface RunUnderTest {
  readonly id: string
  outcome(): Promise<unknown>
}

/** Somebody is asking a run whose it is: the first clock that hears of it answers. */
let question: { answer?: TestEngine } | undefined

/** A clock that answers for its engine. */
export function answeringClock(clock: Required<Clock>, whose: () => TestEngine): Required<Clock> {
  return {
    ...clock,
    hold(hold) {
      if (question === undefined || hold.kind !== 'awaited') return clock.hold(hold)
      question.answer = whose()
      hold.fail?.(new Error('Cannot await the run: it was only asked whose it is'))
      return () => undefined
    },
  }
}

/**
 * The fixture of the engine that a run was triggered on. A run knows its engine, but tells nobody; whoever awaits it,
 * however, is announced to the clock of that engine at once.
 *
 * @throws TestError `ERR_NOT_UNDER_TEST` when it is no run, or not one of an engine made by `createTestEngine`.
 */
export function testEngineOf(run: unknown): TestEngine {
  const asked: { answer?: TestEngine } = {}
  if (isRun(run)) {
    question = asked
    try {
      run.outcome().catch(() => undefined)
    } finally {
      question = undefined
    }
  }
  if (asked.answer !== undefined) return asked.answer
  throw new TestError(
    'ERR_NOT_UNDER_TEST',
    'Cannot tell whose run this is: give the matcher, outside of tasks, what `trigger` of a test engine answered ' +
      '(`const run = await t.engine.trigger(…)`, then `await expect(run).toBeStuck()`)',
  )
}

export function isRun(run: unknown): run is RunUnderTest {
  return (
    typeof run === 'object' &&
    run !== null &&
    'id' in run &&
    'outcome' in run &&
    typeof run.outcome === 'function'
  )
}
