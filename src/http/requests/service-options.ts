import { show } from '../../primitives/require.ts'
import { type JsonObject, readJsonObject } from './json-body.ts'
import { Refusal } from '../refusal.ts'

/**
 * Options of the service that have no effect here: placement, the priority of a replay, the version of the tasks (an engine has one),
 * and bookkeeping.
 */
const HINTS: readonly string[] = [
  'machine',
  'region',
  'priority',
  'version',
  'lockToVersion',
  'externalDeploymentId',
  'parentRunId',
  'parentAttempt',
  'parentBatch',
  'bulkActionId',
  'idempotencyKeyOptions',
  'metadataType',
  'payloadType',
  'payloadSize',
  'taskIdentifiers',
]

const NO_WAITING = 'a run of another engine cannot wait here; inside a task use triggerAndWait()'
const TASKS_LIMIT = 'limits belong to the tasks and queues of the engine'

/**
 * Options of the service that cannot be ignored, because the run would behave differently, each with an explanation.
 */
const REFUSED: Readonly<Record<string, string>> = {
  concurrency: TASKS_LIMIT,
  gates: TASKS_LIMIT,
  resumeParentOnCompletion: NO_WAITING,
  dependentAttempt: NO_WAITING,
  dependentBatch: NO_WAITING,
  test: 'test runs are not supported; the task would run as always',
}

/** The options that a request reads. */
export interface ReadOptions {
  readonly names: readonly string[]
  /** The action that takes the options, for messages. */
  readonly what: string
  /** Advice for an option that is not supported. */
  readonly instead: string
}

/**
 * A body of these members, or of some.
 *
 * @throws Refusal 400 for any other member; 413 beyond so many bytes.
 */
export async function readServiceBody(
  request: Request,
  bytes: number,
  { names, what }: Omit<ReadOptions, 'instead'>,
): Promise<JsonObject> {
  const body = await readJsonObject(request, bytes)
  checkServiceOptions(body, { names, what, instead: `use ${names.join(', ')}` })
  return body
}

/**
 * Refuses options that would be silently ignored. Options that are read, and those without effect on a run, pass.
 *
 * @throws Refusal 400 that names the option.
 */
export function checkServiceOptions(options: JsonObject, { names, what, instead }: ReadOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (names.includes(name) || HINTS.includes(name)) continue
    const isRefused = Object.hasOwn(REFUSED, name)
    if (isRefused && value === false) continue
    throw new Refusal(
      400,
      `Cannot ${what} with the option ${show(name)}: ${isRefused ? REFUSED[name] : instead}`,
    )
  }
}
