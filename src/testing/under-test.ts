import type { HoldingClock } from '../contract/clock.ts'
import { TestError } from './test-error.ts'
import type { TestEngine } from './test-engine.ts'

/** What `trigger` answers, as far as a matcher needs it. */
export interface AwaitableRun {
  readonly id: string
  outcome(): Promise<unknown>
}

/** Somebody is asking a run whose it is: the first clock that hears of it answers. */
let question: { answer?: TestEngine } | undefined

/** A clock that answers for its engine. */
export function answeringClock(clock: HoldingClock, whose: () => TestEngine): HoldingClock {
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

/** A run, with the fixture of the engine it was triggered on. */
export interface FoundRun {
  readonly run: AwaitableRun
  readonly t: TestEngine
}

/**
 * Finds the fixture of the engine that a run was triggered on. A run knows its engine, but tells nobody; whoever awaits
 * it, however, is announced to the clock of that engine at once.
 *
 * @throws TestError `ERR_NOT_UNDER_TEST` when it is no run, or not one of an engine made by `createTestEngine`.
 */
export function runUnderTest(run: unknown): FoundRun {
  if (isAwaitable(run)) {
    const t = fixtureOf(run)
    if (t !== undefined) return { run, t }
  }
  throw new TestError(
    'ERR_NOT_UNDER_TEST',
    'Cannot tell whose run this is: give the matcher, outside of tasks, what `trigger` of a test engine answered ' +
      '(`const run = await t.engine.trigger(…)`, then `await expect(run).toBeStuck()`)',
  )
}

function fixtureOf(run: AwaitableRun): TestEngine | undefined {
  const asked: { answer?: TestEngine } = {}
  question = asked
  try {
    run.outcome().catch(() => undefined)
  } finally {
    question = undefined
  }
  return asked.answer
}

function isAwaitable(run: unknown): run is AwaitableRun {
  if (typeof run !== 'object' || run === null) return false
  return 'id' in run && 'outcome' in run && typeof run.outcome === 'function'
}
