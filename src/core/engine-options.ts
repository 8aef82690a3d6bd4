import type { Clock } from '../contract/clock.ts'
import type { Storage } from '../contract/storage.ts'
import { parseDuration } from '../primitives/duration.ts'
import type { RetentionOptions } from './retention.ts'
import type { AnyTask } from './run.ts'
import type { StreamOptions } from './stream.ts'

/** Options of `createEngine`; all have defaults. */
export interface EngineOptions {
  readonly tasks?: readonly AnyTask[]
  /** Default: memory. */
  readonly storage?: Storage
  /** Default: the system clock. */
  readonly clock?: Clock
  /** Runs that may execute in this engine at once; parked ones do not count. Default: no limit. */
  readonly concurrency?: number
  /** Where the HTTP handler is reached: used in `token.url`. Default: what `serve()` listens on. */
  readonly baseUrl?: string
  /** Bearer keys of the HTTP handler; the first signs public access tokens. Default: a random one per engine. */
  readonly secretKey?: string | readonly string[]
  readonly retention?: RetentionOptions
  /** Deaths while executing, in a row, after which a run is `CRASHED`. Default 10. */
  readonly maxInterruptions?: number
  readonly streams?: StreamOptions
}

/** The options with their defaults, checked. */
export interface EngineSettings {
  readonly tasks: readonly AnyTask[]
  readonly concurrency: number
  readonly baseUrl: string | undefined
  readonly secretKeys: readonly string[]
  readonly retention: RetentionOptions
  readonly maxInterruptions: number
  readonly historyChunks: number
  readonly historyBytes: number
}

/** Checks everything an engine is given before it exists. */
export function readEngineOptions(options: EngineOptions, randomKey: () => string): EngineSettings {
  const {
    tasks = [],
    concurrency = Number.POSITIVE_INFINITY,
    maxInterruptions = 10,
    retention = {},
  } = options
  const { historyChunks = 10_000, historyBytes = 16 * 1_024 * 1_024 } = options.streams ?? {}
  if (concurrency !== Number.POSITIVE_INFINITY) requireWhole('concurrency', concurrency, 1)
  requireWhole('maxInterruptions', maxInterruptions, 0)
  requireWhole('streams.historyChunks', historyChunks, 1)
  requireWhole('streams.historyBytes', historyBytes, 1)
  if (retention.maxAge !== undefined) parseDuration(retention.maxAge, 'retention.maxAge')
  if (retention.maxCount !== undefined) requireWhole('retention.maxCount', retention.maxCount, 0)
  return {
    tasks,
    concurrency,
    baseUrl: readBaseUrl(options.baseUrl),
    secretKeys: readSecretKeys(options.secretKey, randomKey),
    retention,
    maxInterruptions,
    historyChunks,
    historyBytes,
  }
}

function requireWhole(name: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least) return
  throw new RangeError(`Cannot create the engine: ${name} ${value} must be a whole number from ${least}`)
}

function readBaseUrl(baseUrl: string | undefined): string | undefined {
  if (baseUrl === undefined || /^https?:\/\/[^/]/.test(baseUrl)) return baseUrl?.replace(/\/+$/, '')
  throw new TypeError(`Cannot create the engine: baseUrl "${baseUrl}" must be an http or https address`)
}

function readSecretKeys(
  secretKey: string | readonly string[] | undefined,
  randomKey: () => string,
): readonly string[] {
  if (secretKey === undefined) return [randomKey()]
  const keys = typeof secretKey === 'string' ? [secretKey] : [...secretKey]
  if (keys.length > 0 && keys.every((key) => typeof key === 'string' && key !== '')) return keys
  throw new TypeError('Cannot create the engine: secretKey must be a non-empty string, or several')
}
