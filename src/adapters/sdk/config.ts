import { checkRetry } from '../../api/retry.ts'
import { parseSeconds } from '../../primitives/duration.ts'
import { requireFlag, requireOptions } from '../../primitives/require.ts'
import { type MachineName, machineName } from './context.ts'
import {
  type AnyOnFailureHookFunction,
  type AnyOnInitHookFunction,
  type AnyOnStartHookFunction,
  type AnyOnSuccessHookFunction,
  globalHook,
  type HookName,
  type RetryPolicy,
} from './hooks.ts'
import { engineRetry } from './retry-policy.ts'
import { timeout } from './timeout.ts'
import type { Untyped } from './untyped.ts'

/**
 * A `trigger.config.ts`. What `npx waitpoint dev` reads of it has its type here; the rest is for deployments of the hosted
 * service. See docs/console-and-cli.md.
 */
export interface TriggerConfig {
  /** Folders of task files, beside the configuration, or patterns of them. */
  dirs?: string[]
  /** Patterns of files in these folders that are no task files, by their paths from the configuration on. */
  ignorePatterns?: string[]
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
  /** Shown by `ctx.machine` of tasks without one of their own. */
  machine?: MachineName
  /** Hooks for all tasks. */
  init?: AnyOnInitHookFunction
  onStart?: AnyOnStartHookFunction
  onSuccess?: AnyOnSuccessHookFunction
  onFailure?: AnyOnFailureHookFunction
  /** For deployments. */
  build?: { extensions?: BuildExtension[]; [other: string]: unknown }
  [other: string]: unknown
}

/** A step of a build of the hosted service. It is not called here. */
interface BuildExtension {
  name: string
  externalsForTarget?: (target: Untyped) => string[] | undefined
  onBuildStart?: (context: Untyped) => Promise<void> | void
  onBuildComplete?: (context: Untyped, manifest: Untyped) => Promise<undefined | void> | undefined | void
  [other: string]: unknown
}

/** For a build of the hosted service, which asks for the variables of an environment. */
export interface ResolveEnvironmentVariablesParams {
  projectRef: string
  environment: string
  env: Record<string, string>
}

/** The variables, or nothing. */
interface ResolvedVariables {
  variables: Record<string, string> | { name: string; value: string }[]
  override?: boolean
}

/** The answer to a build of the hosted service. */
export type ResolveEnvironmentVariablesResult =
  ResolvedVariables | Promise<void | undefined | ResolvedVariables> | void | undefined

/** Answers a build of the hosted service. It is not called here. */
export type ResolveEnvironmentVariablesFunction = (
  params: ResolveEnvironmentVariablesParams,
) => ResolveEnvironmentVariablesResult

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
  readonly machine?: MachineName
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

const RETRIES_NAMES = { default: true, enabledInDev: true }

/** The options of a configuration that `applyConfig` reads. */
export const CONFIG_OPTIONS: readonly string[] = ['retries', 'maxDuration', 'ttl', 'machine', ...HOOKS]

/**
 * Applies a configuration to the tasks that are defined from now on, and its hooks to all tasks of this process.
 *
 * @throws TypeError or RangeError for values that cannot be used.
 */
export function applyConfig(config: TriggerConfig): void {
  const { retries = {}, maxDuration, ttl, machine } = config
  requireOptions(retries, 'retries of the configuration', RETRIES_NAMES)
  requireFlag(retries.enabledInDev, 'retries.enabledInDev')
  const owner = 'the configuration'
  if (retries.default !== undefined) checkRetry(engineRetry(retries.default, owner), owner)
  if (maxDuration !== undefined && maxDuration !== timeout.None) parseSeconds(maxDuration, 'maxDuration')
  if (ttl !== undefined) parseSeconds(ttl, 'ttl')
  defaults = {
    ...(retries.default === undefined ? {} : { retry: retries.default }),
    ...(retries.enabledInDev === false ? { isNeverRetried: true } : {}),
    ...(maxDuration === undefined ? {} : { maxDuration }),
    ...(ttl === undefined ? {} : { ttl }),
    ...(machine === undefined ? {} : { machine: machineName(machine, owner) }),
  }
  for (const kind of HOOKS) {
    const hook = config[kind]
    // The name of the hook says which type it has; `globalHook` refuses what is no function.
    if (hook !== undefined) globalHook(kind === 'handleError' ? 'catchError' : kind)('config', hook as never)
  }
}
