import type { TraceCarrier } from './diagnostics.ts'
import { digestOfCode } from '../primitives/code-digest.ts'
import type { QueueRate, RunLimit } from '../contract/storage.ts'
import { parseSeconds } from '../primitives/duration.ts'
import type { OptionNames } from '../primitives/require.ts'
import {
  requireFunction,
  requireList,
  requireName,
  requireOptions,
  requireWhole,
  show,
} from '../primitives/require.ts'
import { TASK_QUEUE_START } from '../contract/id-prefixes.ts'
import type { RunRecord } from '../contract/records.ts'
import { WaitpointError } from './errors.ts'
import type { RetryOptions } from './retry.ts'
import { checkRetry } from './retry.ts'
import {
  DECLARED_LIMITS,
  type DeclaresLimits,
  runLimitText,
  rateText,
  readTaskLimits,
  readRate,
  type TaskQueueOptions,
} from './queue.ts'
import type { AnyTask } from './run.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'
import type { TaskScheduleOptions } from './schedule.ts'
import type { Task, TaskOptions } from './task.ts'
import { readSchedule, type ScheduleDefinition, SCHEDULED_PAYLOAD } from './schedule-definition.ts'

/** A task as an engine uses it, checked when it was defined. Payload and output are known to the caller only. */
export interface TaskDefinition {
  readonly id: string
  readonly options: TaskOptions<unknown, unknown>
  readonly schema: StandardSchemaV1 | undefined
  readonly schedule: ScheduleDefinition | undefined
  readonly retry: RetryOptions
  readonly queue: string
  readonly queueLimit: number | undefined
  readonly queueRate: QueueRate | undefined
  readonly limits: ReadonlyMap<string, RunLimit>
  /** One list for all its runs; nothing without limits. */
  readonly limitNames: readonly string[] | undefined
  readonly maxDurationMs: number | undefined
  readonly maxCancelMs: number
  readonly ttlMs: number | undefined
  /** The version of its code; runs of another one stand still, unless it is accepted. */
  readonly version: string
  readonly accepts: readonly string[]
}

const NAMES: OptionNames<TaskOptions<never, unknown> & TaskExtras> = {
  id: true,
  run: true,
  title: true,
  description: true,
  retry: true,
  maxDuration: true,
  queue: true,
  limits: true,
  ttl: true,
  version: true,
  accepts: true,
  onStart: true,
  onSuccess: true,
  onFailure: true,
  onCancel: true,
  maxCancelDuration: true,
  catchError: true,
  schema: true,
  schedule: true,
}

/** Options of tasks with a schema, and of scheduled ones. */
interface TaskExtras {
  readonly schema?: StandardSchemaV1
  readonly schedule?: TaskScheduleOptions
}

const HOOKS = ['title', 'onStart', 'onSuccess', 'onFailure', 'onCancel', 'catchError'] as const

/** How long `onCancel` may take by default. */
const CANCEL_SECONDS = 30

/** A task whose options and whose engine say nothing of retries. */
const ONE_ATTEMPT: RetryOptions = { maxAttempts: 1 }

const QUEUE_NAMES: OptionNames<TaskQueueOptions> = {
  name: true,
  concurrencyLimit: true,
  rate: true,
}

const DEFINITION: unique symbol = Symbol('definition of a task')

interface Defined {
  readonly [DEFINITION]?: TaskDefinition
}

/** Checks the options of a task and hides its definition in it. */
export function attachDefinition<Payload, Output>(
  task: Task<Payload, Output>,
  options: TaskOptions<Payload, Output> & TaskExtras,
): Task<Payload, Output> {
  requireOptions(options, 'the options of task', NAMES)
  const { id, run, retry = ONE_ATTEMPT, queue = {}, maxDuration, ttl, version, accepts = [] } = options
  const { maxCancelDuration = CANCEL_SECONDS } = options
  requireName(id, 'task id')
  if (typeof run !== 'function') throw new TypeError(`Cannot define task "${id}": run must be a function`)
  for (const hook of HOOKS) requireFunction(options[hook], `${hook} of task "${id}"`)
  checkDescription(options.description, id)
  checkSchema(options.schema, id)
  const schedule = options.schedule === undefined ? undefined : readSchedule(options.schedule, id)
  if (schedule !== undefined && options.schema !== undefined)
    throw new TypeError(
      `Cannot define task "${id}": its schedule says what its payload is; leave out schema, or trigger another task from it`,
    )
  checkRetry(retry, `task "${id}"`)
  const limits = readTaskLimits(options.limits, id)
  const definition: TaskDefinition = {
    id,
    // An engine gives `run` and the hooks only payloads that were triggered for this very task.
    options: options as unknown as TaskOptions<unknown, unknown>,
    schema: schedule === undefined ? options.schema : SCHEDULED_PAYLOAD,
    schedule,
    retry,
    ...readQueue(queue, id),
    limits,
    limitNames: limits.size === 0 ? undefined : [...limits.keys()],
    maxDurationMs: maxDuration === undefined ? undefined : parseSeconds(maxDuration, 'maxDuration'),
    maxCancelMs: parseSeconds(maxCancelDuration, 'maxCancelDuration'),
    ttlMs: ttl === undefined ? undefined : parseSeconds(ttl, 'ttl'),
    version: version === undefined ? digestOfCode(run) : requireName(version, 'version'),
    accepts: requireNames(accepts, 'accepts'),
  }
  return Object.defineProperty(task, DEFINITION, { value: definition })
}

/** A task like another one with its own function. All else, the version too, has been checked and stays. */
export function taskLike(
  definition: TaskDefinition,
  run: TaskOptions<unknown, unknown>['run'],
): AnyTask & Defined {
  const { id, options } = definition
  return { id, [DEFINITION]: { ...definition, options: { ...options, run } } }
}

function readQueue(
  queue: TaskQueueOptions,
  id: string,
): Pick<TaskDefinition, 'queue' | 'queueLimit' | 'queueRate'> {
  requireOptions(queue, `queue of task "${id}"`, QUEUE_NAMES)
  const { name, concurrencyLimit, rate } = queue
  if (concurrencyLimit !== undefined) requireWhole(concurrencyLimit, 'queue.concurrencyLimit', { from: 1 })
  return {
    queue: name === undefined ? TASK_QUEUE_START + id : requireName(name, 'queue.name'),
    queueLimit: concurrencyLimit,
    queueRate: rate === undefined ? undefined : readRate(rate, 'queue.rate'),
  }
}

function requireNames(names: readonly string[], what: string): readonly string[] {
  requireList(names, what)
  for (const name of names) requireName(name, what)
  return [...names]
}

function checkDescription(description: unknown, id: string): void {
  if (description === undefined || typeof description === 'string') return
  throw new TypeError(`Cannot define task "${id}": description must be a string`)
}

/** A schema of another make than Standard Schema would be ignored. */
function checkSchema(schema: unknown, id: string): void {
  if (schema === undefined || isStandardSchema(schema)) return
  throw new TypeError(
    `Cannot define task "${id}": schema must be a Standard Schema, with "~standard".validate`,
  )
}

function isStandardSchema(schema: unknown): boolean {
  const { '~standard': standard } = (schema ?? {}) as {
    readonly '~standard'?: { readonly validate?: unknown } | null
  }
  return typeof standard?.validate === 'function'
}

/** Whether a value was made by `task()`. Nothing is read of other values: a lazy one would begin its work. */
export function isTask(value: unknown): value is AnyTask {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, DEFINITION)
}

function definitionOf(task: AnyTask | null | undefined): TaskDefinition {
  const definition = (task as Defined | null | undefined)?.[DEFINITION]
  if (definition !== undefined) return definition
  throw new TypeError(`Cannot use ${show(task)}: it was not made by task() of this copy of waitpoint`)
}

function withRetry(definition: TaskDefinition, retry: RetryOptions | undefined): TaskDefinition {
  return retry === undefined || definition.retry !== ONE_ATTEMPT ? definition : { ...definition, retry }
}

/** The tasks of one engine, by id. Of several versions of a task the first begins new runs. */
export class TaskRegistry {
  readonly #definitions = new Map<string, readonly [TaskDefinition, ...TaskDefinition[]]>()
  readonly #ids: readonly string[]
  readonly #queueLimits = new Map<string, number>()
  readonly #queueRates = new Map<string, QueueRate>()
  readonly #limits = new Map<string, RunLimit>()
  readonly #versions = new Map<string, string>()

  /** @param retry the policy of tasks that have none of their own. */
  constructor(tasks: readonly AnyTask[], retry?: RetryOptions) {
    for (const task of tasks) this.#add(withRetry(definitionOf(task), retry))
    this.#ids = [...this.#definitions.keys()]
    for (const { queue } of this.#limits.size === 0 ? [] : this.definitions)
      if (this.#limits.has(queue))
        throw new RangeError(
          `Cannot create the engine: "${queue}" is the name of a queue and of a limit; give the limit another name`,
        )
  }

  get ids(): readonly string[] {
    return this.#ids
  }

  /** All tasks, in all their versions. */
  get definitions(): readonly TaskDefinition[] {
    return [...this.#definitions.values()].flat()
  }

  get queueLimits(): ReadonlyMap<string, number> {
    return this.#queueLimits
  }

  get queueRates(): ReadonlyMap<string, QueueRate> {
    return this.#queueRates
  }

  /** Further limits of runs, by name. */
  get limits(): ReadonlyMap<string, RunLimit> {
    return this.#limits
  }

  /** The tasks that are executed by schedules. */
  get scheduled(): readonly ScheduledDefinition[] {
    return this.#ids.map((id) => this.require(id)).filter(hasSchedule)
  }

  /** The version that new runs of each task begin on. */
  get versions(): ReadonlyMap<string, string> {
    return this.#versions
  }

  get(id: string): TaskDefinition | undefined {
    return this.#definitions.get(id)?.[0]
  }

  require(id: string): TaskDefinition {
    const definition = this.get(id)
    if (definition !== undefined) return definition
    requireName(id, 'task id')
    const known = this.#definitions.size === 0 ? 'it has no tasks' : `it has ${this.ids.join(', ')}`
    throw new WaitpointError(
      'ERR_TASK_NOT_FOUND',
      `Cannot trigger task "${id}": the engine does not know it; ${known}`,
    )
  }

  /** The code for a run: that of its own version, else that which accepts it, else the first. */
  codeFor({ taskId, version }: RunRecord): TaskDefinition {
    const definition = this.require(taskId)
    if (version === undefined || version === definition.version) return definition
    const all = this.#definitions.get(taskId) ?? [definition]
    return all.find((one) => one.version === version) ?? all.find((one) => fits(one, version)) ?? definition
  }

  #add(definition: TaskDefinition): void {
    const { id, options, queue, queueLimit, queueRate, limits, version } = definition
    const others = this.#definitions.get(id)
    const isNamed = options.version !== undefined
    // Two codes without a version are two tasks of one id by mistake.
    const isSame = (other: TaskDefinition): boolean =>
      other.version === version || (!isNamed && other.options.version === undefined)
    if (others?.some(isSame) === true) {
      throw new WaitpointError(
        'ERR_TASK_DUPLICATE',
        `Cannot create the engine: two tasks have the id "${id}" and ${isNamed ? `the version "${version}"` : 'no version'}; give each version of a task its own`,
      )
    }
    this.#definitions.set(id, others === undefined ? [definition] : [...others, definition])
    if (others !== undefined) return
    this.#versions.set(id, version)
    const { [DECLARED_LIMITS]: declared = [] } = options as DeclaresLimits
    for (const limit of [[queue, queueLimit] as const, ...declared])
      addToQueue(this.#queueLimits, limit, ['queue', 'limits', String])
    addToQueue(this.#queueRates, [queue, queueRate], ['queue', 'rates', rateText])
    for (const limit of limits) addToQueue(this.#limits, limit, ['limit', 'values', runLimitText])
  }
}

/** @throws RangeError if another task says otherwise of its queue, or of a limit. */
function addToQueue<Value>(
  queues: Map<string, Value>,
  [queue, value]: readonly [queue: string, value: Value | undefined],
  [kind, noun, text]: readonly [kind: string, noun: string, text: (value: Value) => string],
): void {
  if (value === undefined) return
  const other = queues.get(queue) ?? value
  if (text(other) !== text(value))
    throw new RangeError(
      `Cannot create the engine: ${kind} "${queue}" has two ${noun}, ${text(other)} and ${text(value)}`,
    )
  queues.set(queue, value)
}

/** A task that is executed by schedules. */
export type ScheduledDefinition = TaskDefinition & { readonly schedule: ScheduleDefinition }

function hasSchedule(definition: TaskDefinition): definition is ScheduledDefinition {
  return definition.schedule !== undefined
}

/** Whether runs of a version go on with this code. Any code fits a run whose version was set aside by hand. */
export function fits({ version, accepts }: TaskDefinition, begunOn: string | undefined): boolean {
  return begunOn === undefined || begunOn === version || accepts.includes(begunOn)
}

/** Options of the task that a trigger overrides for its run; kept with it. */
export interface RunOverrides {
  readonly maxAttempts?: number
  readonly maxDurationMs?: number
  /** The attempt of its parent that has triggered it with a key that a failure frees; no option of the task. */
  readonly parentAttempt?: number
  /** It was triggered by `runs.replay`; no option of the task. */
  readonly isReplay?: true
  /** The batch that it was triggered in; no option of the task. */
  readonly batchId?: string
  /** What the title of the task made of the payload, or nothing of it; no option that is overridden. */
  readonly title?: string
  /** What a subscriber to `waitpoint:run.trigger` had stored; no option of the task. */
  readonly trace?: Readonly<TraceCarrier>
}

/** Runs the payload through the task's schema: `run` gets the result. */
export async function validatePayload(
  { id, schema }: { readonly id: string; readonly schema: StandardSchemaV1 | undefined },
  payload: unknown,
): Promise<unknown> {
  if (schema === undefined) return payload
  const result = await schema['~standard'].validate(payload)
  if (result.issues === undefined) return result.value
  const issues = result.issues.map(({ message, path = [] }) => {
    const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return place === '' ? message : `${place}: ${message}`
  })
  throw new WaitpointError(
    'ERR_PAYLOAD_INVALID',
    `Cannot trigger task "${id}": payload: ${issues.join('; ')}`,
  )
}
