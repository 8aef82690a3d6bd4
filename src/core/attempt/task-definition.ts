import { parseSeconds } from '../../primitives/duration.ts'
import type { OptionNames } from '../../primitives/require.ts'
import { requireFunction, requireName, requireOptions, requireWhole, show } from '../../primitives/require.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { RetryOptions } from '../../api/retry.ts'
import { checkRetry } from '../../api/retry.ts'
import type { AnyTask } from '../../api/run.ts'
import type { StandardSchemaV1 } from '../../api/standard-schema.ts'
import type { Task, TaskOptions } from '../../api/task.ts'

/** A task as an engine uses it, checked when it was defined. Payload and output are known to the caller only. */
export interface TaskDefinition {
  readonly id: string
  readonly options: TaskOptions<unknown, unknown>
  readonly schema: StandardSchemaV1 | undefined
  readonly retry: RetryOptions
  readonly queue: string
  readonly queueLimit: number | undefined
  readonly maxDurationMs: number | undefined
  readonly ttlMs: number | undefined
}

const HOOKS = ['onStart', 'onSuccess', 'onFailure', 'catchError'] as const

const QUEUE_NAMES: OptionNames<NonNullable<TaskOptions<never, unknown>['queue']>> = {
  name: true,
  concurrencyLimit: true,
}

const DEFINITION: unique symbol = Symbol('definition of a task')

interface Defined {
  readonly [DEFINITION]?: TaskDefinition
}

/** Checks the options of a task and hides its definition in it. */
export function attachDefinition<Payload, Output>(
  task: Task<Payload, Output>,
  options: TaskOptions<Payload, Output> & { readonly schema?: StandardSchemaV1 },
): Task<Payload, Output> {
  const { id, run, retry = { maxAttempts: 1 }, queue = {}, maxDuration, ttl } = options
  requireName(id, 'task id')
  if (typeof run !== 'function') throw new TypeError(`Cannot define task "${id}": run must be a function`)
  for (const hook of HOOKS) requireFunction(options[hook], `${hook} of task "${id}"`)
  checkSchema(options.schema, id)
  checkRetry(retry, id)
  requireOptions(queue, `queue of task "${id}"`, QUEUE_NAMES)
  if (queue.concurrencyLimit !== undefined)
    requireWhole(queue.concurrencyLimit, 'queue.concurrencyLimit', { from: 1 })
  const definition: TaskDefinition = {
    id,
    // An engine gives `run` and the hooks only payloads that were triggered for this very task.
    options: options as unknown as TaskOptions<unknown, unknown>,
    schema: options.schema,
    retry,
    queue: queue.name === undefined ? `task/${id}` : requireName(queue.name, 'queue.name'),
    queueLimit: queue.concurrencyLimit,
    maxDurationMs: maxDuration === undefined ? undefined : parseSeconds(maxDuration, 'maxDuration'),
    ttlMs: ttl === undefined ? undefined : parseSeconds(ttl, 'ttl'),
  }
  return Object.defineProperty(task, DEFINITION, { value: definition })
}

/** A schema of another make than Standard Schema would be ignored. */
function checkSchema(schema: unknown, id: string): void {
  if (schema === undefined || isStandardSchema(schema)) return
  throw new TypeError(
    `Cannot define task "${id}": schema must be a Standard Schema, with "~standard".validate`,
  )
}

function isStandardSchema(schema: unknown): boolean {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false
  const standard: unknown = '~standard' in schema ? schema['~standard'] : undefined
  return (
    typeof standard === 'object' &&
    standard !== null &&
    'validate' in standard &&
    typeof standard.validate === 'function'
  )
}

function definitionOf(task: AnyTask | null | undefined): TaskDefinition {
  const definition = (task as Defined | null | undefined)?.[DEFINITION]
  if (definition === undefined) throw new TypeError(`Cannot use ${show(task)}: it was not made by task()`)
  return definition
}

/** The tasks of one engine, by id. */
export class TaskRegistry {
  readonly #definitions = new Map<string, TaskDefinition>()
  readonly #ids: readonly string[]
  readonly #queueLimits = new Map<string, number>()

  constructor(tasks: readonly AnyTask[]) {
    for (const task of tasks) this.#add(definitionOf(task))
    this.#ids = [...this.#definitions.keys()]
  }

  get ids(): readonly string[] {
    return this.#ids
  }

  get queueLimits(): ReadonlyMap<string, number> {
    return this.#queueLimits
  }

  get(id: string): TaskDefinition | undefined {
    return this.#definitions.get(id)
  }

  require(id: string): TaskDefinition {
    const definition = this.#definitions.get(id)
    if (definition !== undefined) return definition
    requireName(id, 'task id')
    const known = this.#definitions.size === 0 ? 'it has no tasks' : `it has ${this.ids.join(', ')}`
    throw new WaitpointError(
      'ERR_TASK_NOT_FOUND',
      `Cannot trigger task "${id}": the engine does not know it; ${known}`,
    )
  }

  #add(definition: TaskDefinition): void {
    const { id, queue, queueLimit } = definition
    if (this.#definitions.has(id)) {
      throw new WaitpointError(
        'ERR_TASK_DUPLICATE',
        `Cannot create the engine: two tasks have the id "${id}"`,
      )
    }
    this.#definitions.set(id, definition)
    if (queueLimit === undefined) return
    const other = this.#queueLimits.get(queue)
    if (other !== undefined && other !== queueLimit) {
      throw new RangeError(
        `Cannot create the engine: queue "${queue}" has two limits, ${other} and ${queueLimit}`,
      )
    }
    this.#queueLimits.set(queue, queueLimit)
  }
}

/** Options of the task that a trigger overrides for its run; kept with it. */
export interface RunOverrides {
  readonly maxAttempts?: number
  readonly maxDurationMs?: number
}

/** Runs the payload through the task's schema: what comes out is what `run` gets. */
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
