import { show } from '../../primitives/require.ts'
import type { JsonObject } from './json-body.ts'
import { Refusal } from '../refusal.ts'

/**
 * Options of the service that change nothing here: where it would run a run, and when among others that wait; which
 * version of the tasks, of which an engine has one; what it writes into its books.
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

const NO_WAITING = 'no run of another engine can wait here: in a task there is triggerAndWait()'
const TASKS_LIMIT = 'limits belong to the tasks and queues of the engine'

/** Options of the service without which a run would be another than was asked for, and what there is to say to it. */
const REFUSED: Readonly<Record<string, string>> = {
  debounce: 'runs are not debounced; an idempotencyKey keeps a second run from being made',
  concurrency: TASKS_LIMIT,
  gates: TASKS_LIMIT,
  resumeParentOnCompletion: NO_WAITING,
  dependentAttempt: NO_WAITING,
  dependentBatch: NO_WAITING,
  test: 'there are no test runs; the task would do what it always does',
}

/** What is read of the options of a request. */
export interface ReadOptions {
  readonly names: readonly string[]
  /** What they are the options of, for people. */
  readonly what: string
  /** What to do instead of using one that there is not. */
  readonly instead: string
}

/**
 * Checks that nothing is asked for that would be forgotten: what is read passes, and what says nothing about what a run
 * does.
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
