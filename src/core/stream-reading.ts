import {
  type OptionNames,
  requireName,
  requireOptions,
  requireSignal,
  requireWhole,
} from '../primitives/require.ts'
import type { ReadStreamOptions } from '../api/stream.ts'

const NAMES: OptionNames<ReadStreamOptions> = { signal: true, startIndex: true }

/** Which stream is read, and from where. */
export interface StreamReading {
  readonly key: string
  readonly startIndex: number
  readonly signal: AbortSignal | undefined
}

/**
 * What `streams.read` was asked for, checked.
 *
 * @throws TypeError or RangeError for a key or options that cannot be used.
 */
export function streamReading(key: string, options: ReadStreamOptions): StreamReading {
  checkKey(key)
  requireOptions(options, 'the options of streams.read', NAMES)
  const { startIndex = 0, signal } = options
  requireSignal(signal, 'signal')
  requireWhole(startIndex, 'startIndex', { from: 0 })
  return { key, startIndex, signal }
}

/** Keys are types of subscription parts, and `run` is taken. */
export function checkKey(key: string): void {
  requireName(key, 'stream key')
  if (key === 'run')
    throw new RangeError('Cannot use stream "run": parts of type "run" are run updates; use another key')
}
