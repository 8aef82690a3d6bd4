import { fileURLToPath } from 'node:url'

/** Deep enough to reach user code below the engine and the wrappers of a fixture. */
const STACK_DEPTH = 24

/** The folder of this library: its sources, or its build. */
const LIBRARY = fileURLToPath(import.meta.url).replace(/^(.*[\\/](?:src|dist)[\\/]).*$/s, '$1')

/** The place of a call in user code, computed on demand. */
export type Origin = () => string

/**
 * Captures the current call stack.
 *
 * @returns Computes its first line of user code: `/app/review.ts:12:30`.
 */
export function captureOrigin(): Origin {
  const depth = Error.stackTraceLimit
  Error.stackTraceLimit = STACK_DEPTH
  const trace = new Error('called here')
  Error.stackTraceLimit = depth
  return () => firstUserFrame(trace.stack ?? '')
}

/** The place of the first line outside of this library and of Node. */
export function firstUserFrame(stack: string): string {
  for (const line of stack.split('\n').slice(1)) {
    const place = line.replace(/^\s+at (?:.*\()?/, '').replace(/\)$/, '')
    const path = place.startsWith('file:') ? fileURLToPath(place.replace(/[?].*?(?=:\d+:\d+$)/, '')) : place
    if (/:\d+:\d+$/.test(path) && !path.startsWith('node:') && !path.startsWith(LIBRARY)) return path
  }
  return 'an unknown place'
}
