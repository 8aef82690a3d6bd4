import type { Clock } from '../contract/clock.ts'
import type { Storage } from '../contract/storage.ts'
import { parseDuration } from '../primitives/duration.ts'
import type { OptionNames } from '../primitives/require.ts'
import {
  requireFlag,
  requireList,
  requireMethods,
  requireName,
  requireOptions,
  requireWhole,
  show,
} from '../primitives/require.ts'
import { type Codec, requireCodec } from './codec.ts'
import { checkRetry, type RetryOptions } from './retry.ts'
import type { RetentionOptions } from './retention-options.ts'
import type { AnyTask } from './run.ts'
import type { StreamOptions } from './stream.ts'

/** Options of `createEngine`; all have defaults. */
export interface EngineOptions {
  /**
   * The tasks that it executes and triggers.
   *
   * @default none
   */
  readonly tasks?: readonly AnyTask[]
  /**
   * Where records live.
   *
   * @default memory
   */
  readonly storage?: Storage
  /**
   * The source of time.
   *
   * @default the system clock
   */
  readonly clock?: Clock
  /**
   * How payloads of runs, outputs of runs and tokens, and results of `once` are stored, so that dates, maps and the like
   * come back as they were: the default export of `superjson`, or an object of its shape. See
   * docs/recipes.md#values-that-are-not-json.
   *
   * @default none: they are JSON
   */
  readonly codec?: Codec
  /**
   * Whether this engine executes runs. With `false` it triggers, completes tokens and reads, as in a web server beside workers.
   *
   * @default `true`
   */
  readonly execute?: boolean
  /**
   * Whether the engine keeps its process alive from its opening to its `close()`, as a worker does. Without it a process
   * stays for runs that execute or wait and for results that are awaited. See docs/operations.md.
   *
   * @default `false`
   */
  readonly keepAlive?: boolean
  /**
   * Runs that may execute in this engine at once. Parked runs do not count.
   *
   * @unit runs
   * @default no limit
   */
  readonly concurrency?: number
  /**
   * The http or https address under which others reach the HTTP handler, without credentials, query or fragment.
   * `token.url` and `token.link` begin with it. `waitpoint.invalid` is the address of no host: give one to a process that asks and does not serve.
   *
   * @default the address that `serve()` listens on, else `http://waitpoint.invalid`
   */
  readonly baseUrl?: string
  /**
   * Bearer keys of the HTTP handler. The first one signs public access tokens; all are accepted. Without one, a key that is
   * kept in the storage signs them, and only access tokens and token URLs open the handler.
   *
   * @default none
   */
  readonly secretKey?: string | readonly string[]
  /**
   * How long ended runs and settled tokens are kept.
   *
   * @default see RetentionOptions
   */
  readonly retention?: RetentionOptions
  /**
   * When and how often a task is called again after it threw, for tasks without a `retry` of their own.
   *
   * @default none: one attempt
   */
  readonly retry?: RetryOptions
  /**
   * Deaths of the process while a run executes, in a row, after which the run is `CRASHED`, if it executed alone when the last one came.
   *
   * @unit interruptions
   * @default `10`
   */
  readonly maxInterruptions?: number
  /**
   * How long at most a run that its process has died with again and again keeps others from executing here, at least 100. Others are then
   * served for as long.
   *
   * @default `600_000`
   */
  readonly isolationMs?: number
  /**
   * How long after its last sign of life this engine counts as dead, so that others on the same storage execute its
   * runs; at least 100. It gives a sign every third of that.
   *
   * @default `30_000`
   */
  readonly leaseMs?: number
  /**
   * How long a call of a run waits for a storage that is away, slow or full. Then the attempt is interrupted, and the run is
   * executed again when the storage is back. 0: it does not wait.
   *
   * @default `60_000`
   */
  readonly storageWaitMs?: number
  /**
   * How much of each stream is kept in memory.
   *
   * @default see StreamOptions
   */
  readonly streams?: StreamOptions
}

/** The options with their defaults, checked. */
export interface EngineSettings {
  readonly tasks: readonly AnyTask[]
  readonly codec: Codec | undefined
  readonly execute: boolean
  readonly keepAlive: boolean
  readonly concurrency: number
  readonly baseUrl: string | undefined
  readonly secretKeys: readonly string[]
  readonly retry: RetryOptions | undefined
  readonly retention: RetentionOptions
  readonly maxInterruptions: number
  readonly isolationMs: number
  readonly leaseMs: number
  readonly storageWaitMs: number
  readonly historyChunks: number
  readonly historyBytes: number
  readonly unreadInputs: number
}

/** The options that test tools hand on; storage and clock are theirs. */
export const ENGINE_OPTION_NAMES: OptionNames<Omit<EngineOptions, 'storage' | 'clock'>> = {
  tasks: true,
  codec: true,
  execute: true,
  keepAlive: true,
  concurrency: true,
  baseUrl: true,
  secretKey: true,
  retention: true,
  retry: true,
  maxInterruptions: true,
  isolationMs: true,
  leaseMs: true,
  storageWaitMs: true,
  streams: true,
}
const NAMES: OptionNames<EngineOptions> = /* @__PURE__ */ Object.assign({}, ENGINE_OPTION_NAMES, {
  storage: true,
  clock: true,
})
const STREAM_NAMES: OptionNames<StreamOptions> = {
  historyChunks: true,
  historyBytes: true,
  unreadInputs: true,
}
const RETENTION_NAMES: OptionNames<RetentionOptions> = { maxAge: true, maxCount: true, maxBytes: true }

/** Checks everything an engine is given before it exists. */
export function readEngineOptions(options: EngineOptions): EngineSettings {
  requireOptions(options, 'the options of createEngine', NAMES)
  const {
    tasks = [],
    execute = true,
    keepAlive = false,
    concurrency = Number.POSITIVE_INFINITY,
    maxInterruptions = 10,
    isolationMs = 600_000,
    leaseMs = 30_000,
    storageWaitMs = 60_000,
    retention = {},
    codec,
    retry,
  } = options
  requireList(tasks, 'tasks')
  requireFlag(execute, 'execute')
  requireFlag(keepAlive, 'keepAlive')
  if (codec !== undefined) requireCodec(codec)
  if (options.storage !== undefined) requireMethods(options.storage, 'storage', ['open'])
  if (options.clock !== undefined) requireMethods(options.clock, 'clock', ['now', 'setTimer'])
  if (concurrency !== Number.POSITIVE_INFINITY) requireWhole(concurrency, 'concurrency', { from: 1 })
  requireWhole(maxInterruptions, 'maxInterruptions', { from: 0 })
  requireWhole(isolationMs, 'isolationMs', { from: 100 })
  requireWhole(leaseMs, 'leaseMs', { from: 100 })
  requireWhole(storageWaitMs, 'storageWaitMs', { from: 0 })
  if (retry !== undefined) checkRetry(retry, 'the engine')
  checkRetention(retention)
  return {
    tasks,
    codec,
    execute,
    keepAlive,
    concurrency,
    baseUrl: readBaseUrl(options.baseUrl),
    secretKeys: readSecretKeys(options.secretKey),
    retry,
    retention,
    maxInterruptions,
    isolationMs,
    leaseMs,
    storageWaitMs,
    ...readStreamOptions(options.streams),
  }
}

function checkRetention(retention: RetentionOptions): void {
  requireOptions(retention, 'retention', RETENTION_NAMES)
  const { maxAge, maxCount, maxBytes } = retention
  if (maxAge !== undefined) parseDuration(maxAge, 'retention.maxAge')
  if (maxCount !== undefined) requireWhole(maxCount, 'retention.maxCount', { from: 0 })
  if (maxBytes !== undefined) requireWhole(maxBytes, 'retention.maxBytes', { from: 0 })
}

function readStreamOptions(streams: StreamOptions = {}): Required<StreamOptions> {
  requireOptions(streams, 'streams', STREAM_NAMES)
  const { historyChunks = 10_000, historyBytes = 16 * 1_024 * 1_024, unreadInputs = 1_000 } = streams
  requireWhole(historyChunks, 'streams.historyChunks', { from: 1 })
  requireWhole(historyBytes, 'streams.historyBytes', { from: 1 })
  requireWhole(unreadInputs, 'streams.unreadInputs', { from: 1 })
  return { historyChunks, historyBytes, unreadInputs }
}

/** Token URLs begin with it: a query or a fragment would swallow the rest, credentials would be given away. */
const PLAIN_ADDRESS = /^https?:\/\/[^\s/?#@\\]+(?:\/[^\s?#\\]*)?$/i

function readBaseUrl(baseUrl: unknown): string | undefined {
  if (baseUrl === undefined) return undefined
  const url = requireName(baseUrl, 'baseUrl')
  if (PLAIN_ADDRESS.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '')
  // The text before an @ may be a password.
  const shown = show(url.replace(/\/\/.*@/s, '//…@'))
  throw new TypeError(
    `Cannot use baseUrl ${shown}: it must be an http or https address without spaces, credentials, query or fragment`,
  )
}

function readSecretKeys(secretKey: string | readonly string[] | undefined): readonly string[] {
  if (secretKey === undefined) return []
  const keys: readonly unknown[] = Array.isArray(secretKey) ? secretKey : [secretKey]
  const isKey = (key: unknown): key is string => typeof key === 'string' && key !== ''
  if (keys.length > 0 && keys.every(isKey)) return [...keys]
  // Not shown: it may be right but for one thing.
  throw new TypeError('Cannot use secretKey: it must be a non-empty string, or a list of them')
}
