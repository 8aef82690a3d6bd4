import { requireObject } from '../../primitives/require.ts'
import { globalHook, type HookName, type RetryPolicy } from './hooks.ts'

/**
 * A `trigger.config.ts`. What `npx waitpoint dev` reads of it has its type here; the rest is for deployments of the hosted
 * service. See docs/command-line.md.
 */
export interface TriggerConfig {
  /** Folders of task files, beside the configuration. */
  dirs?: string[]
  retries?: {
    /** With `false` no task is retried by `dev`. */
    enabledInDev?: boolean
    /** For tasks without a `retry` of their own. */
    default?: RetryPolicy
  }
  /** Seconds, for tasks without one of their own. */
  maxDuration?: number
  /** Seconds or a duration, for tasks without one of their own. */
  ttl?: number | string
  [other: string]: unknown
}

/** The configuration as it is given: for its type. */
export function defineConfig<Config extends TriggerConfig>(config: Config): Config {
  return config
}

/** What a configuration says of tasks that say nothing themselves. */
export interface TaskDefaults {
  readonly retry?: RetryPolicy
  readonly isNeverRetried?: boolean
  readonly maxDuration?: number
  readonly ttl?: number | string
}

let defaults: TaskDefaults = {}

/** The defaults of the tasks that are defined from now on. */
export function taskDefaults(): TaskDefaults {
  return defaults
}

const HOOKS: readonly HookName[] = [
  'init',
  'onStart',
  'onStartAttempt',
  'onSuccess',
  'onFailure',
  'onComplete',
  'onCancel',
  'onWait',
  'onResume',
  'catchError',
  'handleError',
  'middleware',
  'cleanup',
]

/**
 * Applies a configuration to the tasks that are defined from now on, and its hooks to all tasks of this process.
 *
 * @throws TypeError for values that cannot be used.
 */
export function applyConfig(config: TriggerConfig): void {
  const { retries = {}, maxDuration, ttl } = config
  requireObject(retries, 'retries of the configuration')
  defaults = {
    ...(retries.default === undefined ? {} : { retry: retries.default }),
    ...(retries.enabledInDev === false ? { isNeverRetried: true } : {}),
    ...(maxDuration === undefined ? {} : { maxDuration }),
    ...(ttl === undefined ? {} : { ttl }),
  }
  for (const kind of HOOKS) {
    const hook = config[kind]
    // The name of the hook says which type it has; `globalHook` refuses what is no function.
    if (hook !== undefined) globalHook(kind === 'handleError' ? 'catchError' : kind)(hook as never)
  }
}
