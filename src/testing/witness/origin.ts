import { fileURLToPath } from 'node:url'

/** Deep enough to reach user code from under the engine and the wrappers of a fixture. */
const STACK_DEPTH = 24

/** The folder this library was loaded from: its sources, or what was built from them. */
const LIBRARY = fileURLToPath(import.meta.url).replace(/^(.*[\\/](?:src|dist)[\\/]).*$/s, '$1')

/** Where something was called for, worked out when somebody asks. */
export type Origin = () => string

/**
 * Remembers the present call stack.
 *
 * @returns What answers its first line of user code: `/app/review.ts:12:30`.
 */
export function captureOrigin(): Origin {
  const depth = Error.stackTraceLimit
  Error.stackTraceLimit = STACK_DEPTH
  const trace = new Error('called here')
  Error.stackTraceLimit = depth
  return () => firstUserFrame(trace.stack ?? '')
}

/** The place of the first line that is neither this library's nor Node's. */
export function firstUserFrame(stack: string): string {
  for (const line of stack.split('\n').slice(1)) {
    const place = line.replace(/^\s+at (?:.*\()?/, '').replace(/\)$/, '')
    const path = place.startsWith('file:') ? fileURLToPath(place.replace(/[?].*?(?=:\d+:\d+$)/, '')) : place
    if (/:\d+:\d+$/.test(path) && !path.startsWith('node:') && !path.startsWith(LIBRARY)) return path
  }
  return 'an unknown place'
}
