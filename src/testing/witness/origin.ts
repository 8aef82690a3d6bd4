import { fileURLToPath } from 'node:url'
import { ownFile } from '../../primitives/own-file.ts'

/** Deep enough to reach user code below the wrappers of a fixture, and of packages. */
const CALL_DEPTH = 24
/** Deep enough to reach it below the whole engine too. */
const RECORD_DEPTH = 40

/** A stack is dear: so many places are kept, and a test that makes thousands of runs pays for these only. */
const KEPT_PLACES = 200

/** The folder of this library: its sources, or its build. */
const LIBRARY = ownFile().replace(/^(.*[\\/](?:src|dist)[\\/]).*$/s, '$1')

/** The place of a call in user code, computed on demand. */
export type Origin = () => string

/**
 * Captures the current call stack.
 *
 * @returns Computes its first line of user code: `/app/review.ts:12:30`.
 */
export function captureOrigin(depth: number = CALL_DEPTH): Origin {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = depth
  const trace = new Error('called here')
  Error.stackTraceLimit = before
  return () => firstUserFrame(trace.stack ?? '')
}

const NOT_KEPT: Origin = () => `a place that is not kept (only the first ${KEPT_PLACES} of a test engine are)`

/** The places of calls in one test, as many as are kept. */
export class Origins {
  #left = KEPT_PLACES
  /** The place of the call that is being made, until its first record asks for it. */
  #begun: Origin | undefined

  /** Like `captureOrigin`, for the first calls only. */
  capture(depth?: number): Origin {
    if (this.#left === 0) return NOT_KEPT
    this.#left -= 1
    return captureOrigin(depth)
  }

  /** Makes a call whose place is known. The first record that it stores at once is from there: one stack does for both. */
  within<Answer>(origin: Origin, call: () => Answer): Answer {
    this.#begun = origin
    try {
      return call()
    } finally {
      this.#begun = undefined
    }
  }

  /** The place of a record that is being stored. */
  ofRecord(): Origin {
    const begun = this.#begun
    // What comes next may be stored by other code, such as that of the run that has begun.
    this.#begun = undefined
    return begun ?? this.capture(RECORD_DEPTH)
  }
}

/** The place of the first line outside of this library, of Node, and, if there is one, of packages. */
export function firstUserFrame(stack: string): string {
  let packaged: string | undefined
  for (const line of stack.split('\n').slice(1)) {
    const place = line.replace(/^\s+at (?:.*\()?/, '').replace(/\)$/, '')
    const path = place.startsWith('file:') ? fileURLToPath(place.replace(/[?].*?(?=:\d+:\d+$)/, '')) : place
    if (!/:\d+:\d+$/.test(path) || path.startsWith('node:') || path.startsWith(LIBRARY)) continue
    // A matcher is called by the package of the test runner, and that by the test.
    if (!/[\\/]node_modules[\\/]/.test(path)) return path
    packaged ??= path
  }
  return packaged ?? 'an unknown place'
}
