import { bareTestClock, type TestClock, type BareTestClockOptions } from '../clock/test.ts'
import { requireObject } from '../primitives/require.ts'
import { loadAll } from '../core/all-loaded.ts'
import { callingAttempt } from '../core/inside.ts'
import { captureOrigin } from './witness/origin.ts'
import { statements } from './storages/statements.ts'

/** Options of `testClock`; all have defaults. */
export type TestClockOptions = Omit<BareTestClockOptions, 'currentRun' | 'captureOrigin' | 'io'>

/**
 * Creates a clock that tests move. It touches no globals, and any number of clocks live side by side. See
 * docs/testing.md.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 *
 * @example
 * ```ts
 * const clock = testClock({ start: Date.UTC(2030, 0, 31), mode: 'manual' })
 * const engine = createEngine({ tasks: [review], clock })
 * await clock.advance('24h')
 * ```
 */
export function testClock(options: TestClockOptions = {}): TestClock {
  requireObject(options, 'the options of testClock')
  loadAll()
  return bareTestClock({ ...options, currentRun, captureOrigin, io: statements })
}

/** The run whose code is calling, while its attempt lasts. */
function currentRun(): string | undefined {
  const attempt = callingAttempt()
  return attempt === undefined || attempt.isEnded ? undefined : attempt.id
}
