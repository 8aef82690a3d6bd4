import { DECLARED_LIMITS, type DeclaresLimits } from '../../api/queue.ts'
import { CALL_END, type HasRunPlace, type SettlesCalls } from '../../api/run-place.ts'
import type { TaskScheduleOptions } from '../../api/schedule.ts'
import type { RunTools, TaskOptions } from '../../api/task.ts'
import { task as engineTask } from '../../core/ambient/define-task.ts'
import { TAKES_NOTES, type TakesNotes } from '../../api/noted-value.ts'
import { digestOfCode } from '../../primitives/code-digest.ts'
import { type OptionNames, requireName, requireOptions, show } from '../../primitives/require.ts'
import { noteTask } from './catalogue.ts'
import { taskDefaults } from './config.ts'
import { currentEnvironment, machineName } from './context.ts'
import { enterRun, executingRun, inRun, leavable, leaveRun } from './current-run.ts'
import type { AnyTaskHooks, HookName, InitOutput } from './hooks.ts'
import { enginePattern } from './engine-pattern.ts'
import { LivingAttempt, type LivingTask } from './lifecycle.ts'
import { declaredLimits, engineQueue } from './queue.ts'
import { type RequestOptions, requireRequest } from './request-options.ts'
import { storedSchema, type TaskSchema } from './schema.ts'
import type {
  HostedBatchItem,
  HostedTask,
  HostedTaskOptions,
  Items,
  TaskOptionsWithSchema,
  TaskWithSchema,
  TaskWithSchemaOptions,
} from './task-types.ts'
import { engineRetry } from './retry-policy.ts'
import { requireTypes } from './option-types.ts'
import { timeout } from './timeout.ts'
import {
  batchTrigger,
  batchTriggerAndWait,
  itemsById,
  trigger,
  triggerAndSubscribe,
  triggerAndWait,
} from './triggering.ts'
import type { Untyped } from './untyped.ts'
import { decodeValue } from './values.ts'

type AnyOptions = HostedTaskOptions<string, Untyped, Untyped>

const HOOKS: Readonly<Record<HookName, true>> = {
  init: true,
  cleanup: true,
  handleError: true,
  catchError: true,
  onResume: true,
  onWait: true,
  onComplete: true,
  onCancel: true,
  middleware: true,
  onStart: true,
  onStartAttempt: true,
  onSuccess: true,
  onFailure: true,
}

const NAMES: OptionNames<AnyOptions> = {
  ...HOOKS,
  id: true,
  description: true,
  retry: true,
  queue: true,
  machine: true,
  maxDuration: true,
  ttl: true,
  run: true,
  jsonSchema: true,
}

/**
 * Defines a task as the hosted service has it; see docs/hosted-task-files.md.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 *
 * @example
 * ```ts
 * const greet = task({ id: 'greet', run: async (payload: { name: string }) => `Hello ${payload.name}` })
 * ```
 */
export function hostedTask<Id extends string, Output = unknown, Init extends InitOutput = Untyped>(
  options: TaskOptionsWithSchema<Id, Output, Init>,
): HostedTask<Id, Untyped, Output>
export function hostedTask<
  Id extends string,
  Payload = void,
  Output = unknown,
  Init extends InitOutput = Untyped,
>(options: HostedTaskOptions<Id, Payload, Output, Init>): HostedTask<Id, Payload, Output>
export function hostedTask<Id extends string, Payload, Output>(
  options: HostedTaskOptions<Id, Payload, Output>,
): HostedTask<Id, Payload, Output> {
  requireOptions(options, 'the options of task', NAMES)
  return defineTask(options)
}

const SCHEMA_NAMES: OptionNames<AnyOptions & { readonly schema: unknown }> = { ...NAMES, schema: true }

/**
 * Defines a task whose payload is checked by its schema, when it is triggered and again when it is executed.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 */
export function schemaTask<
  Id extends string,
  Schema extends TaskSchema | undefined = undefined,
  Output = unknown,
  Init extends InitOutput = Untyped,
>(options: TaskWithSchemaOptions<Id, Schema, Output, Init>): TaskWithSchema<Id, Schema, Output> {
  requireOptions(options, 'the options of schemaTask', SCHEMA_NAMES)
  const { schema, ...rest } = options
  const defined = defineTask<Id, Untyped, Output>(rest as AnyOptions & { id: Id }, { schema })
  return schema === undefined ? defined : Object.assign(defined, { schema })
}

const CRON_NAMES: OptionNames<AnyOptions & { readonly cron: unknown }> = { ...NAMES, cron: true }

/** The payload of a scheduled task. */
export interface ScheduledTaskPayload {
  scheduleId: string
  type: 'DECLARATIVE' | 'IMPERATIVE'
  /** The instant that the run was scheduled for. */
  timestamp: Date
  lastTimestamp?: Date
  /** An IANA time zone, such as `America/New_York`. */
  timezone: string
  externalId?: string
  /** The next instants. */
  upcoming: Date[]
}

/** Options of `schedules.task`. */
export type HostedScheduleOptions<Id extends string, Output, Init extends InitOutput> = HostedTaskOptions<
  Id,
  ScheduledTaskPayload,
  Output,
  Init
> & {
  /** A pattern in UTC, or with a time zone. In other environments than these there is no schedule. */
  cron?:
    | string
    | {
        pattern: string
        timezone?: string
        /** Without effect: a run is triggered at its instant. */
        window?: string
        environments?: ('DEVELOPMENT' | 'STAGING' | 'PRODUCTION' | 'PREVIEW')[]
      }
}

/**
 * Defines a scheduled task: it is executed at each instant of its pattern, and when it is triggered.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 */
export function scheduledTask<Id extends string, Output, Init extends InitOutput = Untyped>(
  options: HostedScheduleOptions<Id, Output, Init>,
): HostedTask<Id, ScheduledTaskPayload, Output> {
  requireOptions(options, 'the options of schedules.task', CRON_NAMES)
  const { cron, ...rest } = options
  const schedule = cron === undefined ? BY_CREATED : scheduleOf(cron, options.id)
  return defineTask<Id, ScheduledTaskPayload, Output>(rest as AnyOptions & { id: Id }, { schedule })
}

const PATTERN_NAMES = { pattern: true, timezone: true, window: true, environments: true }
const ENVIRONMENTS: readonly string[] = ['DEVELOPMENT', 'STAGING', 'PRODUCTION', 'PREVIEW']

/** A task without a pattern here, which schedules that are created may execute. */
const BY_CREATED: TaskScheduleOptions = {}

/** The schedule as the engine has it; without a pattern in an environment that it is not for. */
function scheduleOf(
  cron: NonNullable<HostedScheduleOptions<string, unknown, Untyped>['cron']>,
  id: string,
): TaskScheduleOptions {
  if (typeof cron === 'string') return { cron: enginePattern(cron) }
  requireOptions(cron, `cron of task "${id}"`, PATTERN_NAMES)
  requireTypes(cron, `cron of task "${id}"`, { window: 'string' })
  const { pattern, timezone, environments } = cron
  const unknown = environments?.find((name) => !ENVIRONMENTS.includes(name))
  if (unknown !== undefined)
    throw new RangeError(
      `Cannot use the environment ${show(unknown)} in cron of task "${id}": it must be one of ${ENVIRONMENTS.join(', ')}`,
    )
  const isElsewhere = environments?.includes(currentEnvironment().type) === false
  // An empty list names all, as in the hosted service.
  if (isElsewhere && environments.length > 0) return BY_CREATED
  return { cron: enginePattern(pattern), ...(timezone === undefined ? {} : { timezone }) }
}

/** What makes a task more than its options do. */
interface TaskExtras {
  readonly schema?: TaskSchema | undefined
  readonly schedule?: TaskScheduleOptions | undefined
}

function defineTask<Id extends string, Payload, Output>(
  options: AnyOptions & { readonly id: Id },
  extras: TaskExtras = {},
): HostedTask<Id, Payload, Output> {
  const { id, description, jsonSchema } = options
  requireName(id, 'task id')
  requireTypes(options, `task "${id}"`, { description: 'string', jsonSchema: 'object' })
  const shown = {
    ...(description === undefined ? {} : { description }),
    ...(jsonSchema === undefined ? {} : { jsonSchema }),
  }
  const defined = Object.assign(engineTask(engineOptions(options, extras)), shown, {
    id,
    trigger: (payload: Payload, options?: object, request?: RequestOptions) => {
      requireRequest(request)
      return trigger<Id, Payload, Output>(id, { payload, options })
    },
    batchTrigger: (items: Items<HostedBatchItem<Payload>>, options?: object, request?: RequestOptions) => {
      requireRequest(request)
      return leavable(batchTrigger<Id, Payload, Output>(itemsById(id, items), options))
    },
    triggerAndWait: (payload: Payload, options?: object, request?: RequestOptions) => {
      requireRequest(request)
      return triggerAndWait<Id, Output>(id, { payload, options })
    },
    triggerAndSubscribe,
    batchTriggerAndWait: (items: Items<HostedBatchItem<Payload>>, options?: object) =>
      batchTriggerAndWait<Id, Output>(itemsById(id, items), options),
  }) as HostedTask<Id, Payload, Output>
  noteTask(defined)
  return defined
}

/** The task as the engine has it: its function and its hooks are calls of the lifecycle. */
function engineOptions(
  options: AnyOptions,
  { schema, schedule }: TaskExtras,
): TaskOptions<unknown, unknown> &
  TakesNotes &
  SettlesCalls &
  DeclaresLimits & {
    schema?: ReturnType<typeof storedSchema>
    schedule?: TaskScheduleOptions
  } {
  const { id, run } = options
  const { retry, maxDuration, ttl } = withDefaults(options)
  if (typeof run !== 'function') throw new TypeError(`Cannot define task "${id}": run must be a function`)
  const queue = engineQueue(options.queue)
  /** Attempts whose function is called, and that have `onCancel`, by their runs. */
  const cancelable = new Map<string, LivingAttempt>()
  /** Attempts whose function has failed, until the engine has decided about them, by their runs. */
  const failed = new Map<string, LivingAttempt>()
  const decided = (runId: string): LivingAttempt | undefined => {
    const attempt = failed.get(runId)
    failed.delete(runId)
    return attempt
  }
  const living = livingTask(options, (attempt) => {
    const { id: runId } = attempt.place
    leaveRun(attempt)
    if (cancelable.get(runId) === attempt) cancelable.delete(runId)
    // The engine decides nothing about an attempt that was ended from outside.
    if (attempt.hasFailed && !attempt.signal.aborted) failed.set(runId, attempt)
  })
  return {
    [TAKES_NOTES]: decodeValue,
    [DECLARED_LIMITS]: declaredLimits,
    id,
    queue,
    version: digestOfCode(run),
    ...(schema === undefined ? {} : { schema: storedSchema(schema, id) }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(retry === undefined ? {} : { retry: engineRetry(retry, `task "${id}"`) }),
    ...(maxDuration === undefined || maxDuration === timeout.None ? {} : { maxDuration }),
    ...(ttl === undefined || ttl === 0 ? {} : { ttl }),
    run: (stored: unknown, tools: RunTools) => {
      // A schema has read the stored payload.
      const payload = schema === undefined ? decodeValue(stored) : stored
      // An engine makes the tools of its runs.
      const attempt = new LivingAttempt(living, payload, tools as RunTools & HasRunPlace)
      enterRun(attempt)
      if (attempt.isToldOfCancel) cancelable.set(attempt.place.id, attempt)
      return attempt.execute()
    },
    [CALL_END]: (end, place) => executingRun(place)?.ended(end) ?? end,
    // As in the hosted service, only while the run has an attempt.
    onCancel: async ({ ctx }) => {
      const attempt = cancelable.get(ctx.run.id)
      if (attempt !== undefined) await inRun(attempt, () => attempt.cancel())
    },
    catchError: async ({ ctx, ...told }) => {
      const attempt = decided(ctx.run.id)
      return attempt && inRun(attempt, () => attempt.decide(told))
    },
    onFailure: async ({ ctx, error }) => {
      const attempt = decided(ctx.run.id)
      if (attempt !== undefined) await inRun(attempt, () => attempt.fail(error))
    },
  }
}

/** The options with those of the configuration where they have none. */
function withDefaults(options: AnyOptions): Pick<AnyOptions, 'retry' | 'maxDuration' | 'ttl' | 'machine'> {
  const { isNeverRetried, ...defaults } = taskDefaults()
  const { retry = defaults.retry } = options
  const { maxDuration = defaults.maxDuration, ttl = defaults.ttl, machine = defaults.machine } = options
  return {
    ...(retry === undefined || isNeverRetried === true ? {} : { retry }),
    ...(maxDuration === undefined ? {} : { maxDuration }),
    ...(ttl === undefined ? {} : { ttl }),
    ...(machine === undefined ? {} : { machine }),
  }
}

function livingTask(options: AnyOptions, over: LivingTask['over']): LivingTask {
  const { id, run } = options
  const { retry, machine } = withDefaults(options)
  const hooks: AnyTaskHooks = options
  const given = (Object.keys(HOOKS) as HookName[]).filter((name) => hooks[name] !== undefined)
  for (const name of given)
    if (typeof hooks[name] !== 'function')
      throw new TypeError(`Cannot define task "${id}": ${name} must be a function`)
  return {
    id,
    run,
    hooks,
    hasHooks: given.length > 0,
    retry,
    isNeverRetried: taskDefaults().isNeverRetried === true,
    machine: machineName(machine, `task "${id}"`),
    over,
  }
}
