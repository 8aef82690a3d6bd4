import type { StoredError } from '../../api/errors.ts'
import type { RetrievedRun, Run } from '../../api/run.ts'
import type { RunStatus } from '../../contract/records.ts'
import type { OTHER_STATUSES } from '../../hosted/statuses.ts'
import { currentEnvironment } from './context.ts'
import type { HostedRunHandle, HostedTask } from './task-types.ts'
import type { Untyped } from './untyped.ts'
import { decodeValue, readableValue } from './values.ts'

/** The payload and the output of a task, or of a run that was triggered. */
type TypesOf<Subject> =
  Subject extends HostedTask<string, infer Payload, infer Output>
    ? { payload: Payload; output: Output }
    : Subject extends HostedRunHandle<string, infer Payload, infer Output>
      ? { payload: Payload; output: Output }
      : { payload: Untyped; output: Untyped }

/** A status of the hosted service. */
export type HostedRunStatus = RunStatus | (typeof OTHER_STATUSES)[number]

/** The error of a run, with its stack under the name that it has there, too. */
export interface HostedRunError extends StoredError {
  readonly stackTrace?: string | undefined
  /** Left out. */
  readonly causes?: { message: string; name?: string; stackTrace?: string }[]
}

/** A run as it is shown: its payload and output as they were given. */
export type HostedRun<Subject = string> = Omit<
  RetrievedRun,
  'payload' | 'output' | 'metadata' | 'tags' | 'status' | 'error'
> & {
  error?: HostedRunError
  status: HostedRunStatus
  tags: string[]
  payload?: TypesOf<Subject>['payload']
  output?: TypesOf<Subject>['output']
  metadata?: Record<string, Untyped>
  /** No run is a test here. */
  isTest: boolean
  /** Nothing costs anything here. */
  costInCents: number
  baseCostInCents: number
  /** Left out. */
  ttl?: string
  /** Left out. */
  queuedAt?: Date
  /** Left out. */
  version?: string
  /** Left out. */
  region?: string
  /** Left out. */
  triggerFunction?: 'trigger' | 'triggerAndWait' | 'batchTrigger' | 'batchTriggerAndWait'
  /** Left out. */
  taskKind?: string
  /** Left out: a payload is shown whole, however large it is. */
  payloadPresignedUrl?: string
  /** Left out: an output is shown whole, however large it is. */
  outputPresignedUrl?: string
}

/** A run as it is listed. */
export type ListedHostedRun = HostedRun & { env: { id: string; name: string; user?: string } }

/** A run as it is related to another one. */
export type RelatedHostedRun = HostedRun & { depth: number }

/** A run as a subscription shows it: with the payload that it has. */
export type RealtimeHostedRun<Subject = string> = HostedRun<Subject> & {
  payload: TypesOf<Subject>['payload']
}

/** A run as it is retrieved. */
export type RetrievedHostedRun<Subject = string> = HostedRun<Subject> & {
  /** How many runs are above it. */
  depth: number
  /** The run above it, and the first one. `children` is left out. */
  relatedRuns: { root?: RelatedHostedRun; parent?: RelatedHostedRun; children?: RelatedHostedRun[] }
  /** Left out. */
  schedule?: {
    id: string
    externalId?: string
    deduplicationKey?: string
    generator: { type: 'CRON'; expression: string; description: string }
  }
}

/** What is known of the runs of a task, by their types. */
interface RunTypes {
  readonly taskIdentifier: string
  readonly payload: Untyped
  readonly output: Untyped
}

/** A run with these types. */
export type HostedRunShape<Types extends RunTypes> = RealtimeHostedRun<
  HostedRunHandle<Types['taskIdentifier'], Types['payload'], Types['output']>
>

/** A run of any task. */
export type AnyRunShape = HostedRunShape<RunTypes>

/** A view of the engine as the hosted service would show it: the engine makes a new one, with its own metadata, for each caller. */
export function shown<S>(run: Run | RetrievedRun): RealtimeHostedRun<S> {
  return shownWith(run, decodeValue)
}

/** A run of a list, with the JSON of a value that cannot be read. */
export function listed(run: Run): ListedHostedRun {
  const env = { id: 'local', name: currentEnvironment().slug }
  return Object.assign(shownWith<string>(run, readableValue), { env })
}

function shownWith<S>(run: Run | RetrievedRun, read: (stored: unknown) => unknown): RealtimeHostedRun<S> {
  // The types are those that the caller knows of the task.
  const view = run as unknown as RealtimeHostedRun<S>
  view.tags = [...run.tags]
  view.payload = read(run.payload)
  view.output = read(run.output)
  if (run.error !== undefined) view.error = { ...run.error, stackTrace: run.error.stack }
  view.isTest = false
  view.costInCents = 0
  view.baseCostInCents = 0
  return view
}
