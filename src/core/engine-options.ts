import type { Clock } from '../contract/clock.ts'
import type { Storage } from '../contract/storage.ts'
import { parseDuration } from '../primitives/duration.ts'
import type { OptionNames } from '../primitives/require.ts'
import {
  requireFlag,
  requireList,
  requireMethods,
  requireName,
  requireObject,
  requireOptions,
  requireWhole,
  show,
} from '../primitives/require.ts'
import type { RetentionOptions } from './changes/retention.ts'
import type { AnyTask } from '../api/run.ts'
import type { StreamOptions } from '../api/stream.ts'

/** Options of `createEngine`; all have defaults. */
export interface EngineOptions {
  readonly tasks?: readonly AnyTask[]
  /** Default: memory. */
  readonly storage?: Storage
  /** Default: the system clock. */
  readonly clock?: Clock
  /**
   * Whether this engine executes runs. One that does not, such as that of a web server beside workers, triggers its tasks,
   * completes tokens and reads, and leaves the runs to others on the same storage. Default: true.
   */
  readonly execute?: boolean
  /** Runs that may execute in this engine at once; parked ones do not count. Default: no limit. */
  readonly concurrency?: number
  /**
   * Where the HTTP handler is reached, an http or https address without credentials, query or fragment: what `token.url`
   * begins with. Default: what `serve()` listens on.
   */
  readonly baseUrl?: string
  /** Bearer keys of the HTTP handler; the first signs public access tokens. Default: a random one per engine. */
  readonly secretKey?: string | readonly string[]
  readonly retention?: RetentionOptions
  /** Deaths while executing, in a row, after which a run is `CRASHED`. Default 10. */
  readonly maxInterruptions?: number
  /**
   * How long after its last sign of life this engine counts as dead, and others on the same storage execute its runs:
   * milliseconds, from 100. It gives one every third of that. Default: 30,000.
   */
  readonly leaseMs?: number
  readonly streams?: StreamOptions
}

/** The options with their defaults, checked. */
export interface EngineSettings {
  readonly tasks: readonly AnyTask[]
  readonly execute: boolean
  readonly concurrency: number
  readonly baseUrl: string | undefined
  readonly secretKeys: readonly string[]
  readonly retention: RetentionOptions
  readonly maxInterruptions: number
  readonly leaseMs: number
  readonly historyChunks: number
  readonly historyBytes: number
}

const STREAM_NAMES: OptionNames<StreamOptions> = { historyChunks: true, historyBytes: true }
const RETENTION_NAMES: OptionNames<RetentionOptions> = { maxAge: true, maxCount: true }

/** Checks everything an engine is given before it exists. */
export function readEngineOptions(options: EngineOptions, randomKey: () => string): EngineSettings {
  requireObject(options, 'the options of createEngine')
  const {
    tasks = [],
    execute = true,
    concurrency = Number.POSITIVE_INFINITY,
    maxInterruptions = 10,
    leaseMs = 30_000,
    retention = {},
    streams = {},
  } = options
  requireList(tasks, 'tasks')
  requireFlag(execute, 'execute')
  if (options.storage !== undefined) requireMethods(options.storage, 'storage', ['open'])
  if (options.clock !== undefined) requireMethods(options.clock, 'clock', ['now', 'setTimer'])
  if (concurrency !== Number.POSITIVE_INFINITY) requireWhole(concurrency, 'concurrency', { from: 1 })
  requireWhole(maxInterruptions, 'maxInterruptions', { from: 0 })
  requireWhole(leaseMs, 'leaseMs', { from: 100 })
  requireOptions(streams, 'streams', STREAM_NAMES)
  const { historyChunks = 10_000, historyBytes = 16 * 1_024 * 1_024 } = streams
  requireWhole(historyChunks, 'streams.historyChunks', { from: 1 })
  requireWhole(historyBytes, 'streams.historyBytes', { from: 1 })
  requireOptions(retention, 'retention', RETENTION_NAMES)
  if (retention.maxAge !== undefined) parseDuration(retention.maxAge, 'retention.maxAge')
  if (retention.maxCount !== undefined) requireWhole(retention.maxCount, 'retention.maxCount', { from: 0 })
  return {
    tasks,
    execute,
    concurrency,
    baseUrl: readBaseUrl(options.baseUrl),
    secretKeys: readSecretKeys(options.secretKey, randomKey),
    retention,
    maxInterruptions,
    leaseMs,
    historyChunks,
    historyBytes,
  }
}

/** Token URLs begin with it: a query or a fragment would swallow the rest, credentials would be given away. */
const PLAIN_ADDRESS = /^https?:\/\/[^\s/?#@\\]+(?:\/[^\s?#\\]*)?$/i

function readBaseUrl(baseUrl: unknown): string | undefined {
  if (baseUrl === undefined) return undefined
  const url = requireName(baseUrl, 'baseUrl')
  if (PLAIN_ADDRESS.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '')
  // What is before an @ may be a password.
  const shown = show(url.replace(/\/\/.*@/s, '//…@'))
  throw new TypeError(
    `Cannot use baseUrl ${shown}: it must be an http or https address without spaces, credentials, query or fragment`,
  )
}

function readSecretKeys(
  secretKey: string | readonly string[] | undefined,
  randomKey: () => string,
): readonly string[] {
  if (secretKey === undefined) return [randomKey()]
  const keys: readonly unknown[] = Array.isArray(secretKey) ? secretKey : [secretKey]
  const isKey = (key: unknown): key is string => typeof key === 'string' && key !== ''
  if (keys.length > 0 && keys.every(isKey)) return [...keys]
  // Not shown: it may be right but for one thing.
  throw new TypeError('Cannot use secretKey: it must be a non-empty string, or a list of them')
}
