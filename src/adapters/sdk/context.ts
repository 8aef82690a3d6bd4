import type { RunContext } from '../../api/task.ts'
import { requireOptions, show } from '../../primitives/require.ts'

/**
 * `ctx`: the run, its attempt and where it executes, with the fields of the hosted service. What differs there:
 *
 * - `environment`, `project` and `organization` are `local`; the type is `PRODUCTION` where `NODE_ENV` is `production`, else
 *   `DEVELOPMENT`. There is no `deployment`.
 * - `run.idempotencyKey` is the key as it is stored, without a scope. `run.isTest` is `false`.
 * - After the process has died, `attempt.startedAt` is when the interrupted attempt was called again.
 * - `batch` tells of the batch that has made the run, also if a later batch has found the run by its key.
 */
export interface TaskRunContext {
  readonly attempt: {
    /** Counted by the retry policy: an attempt that was interrupted is not counted again. */
    readonly number: number
    /** When this call began: one that follows an interruption has an instant of its own. */
    readonly startedAt: Date
  }
  readonly run: {
    readonly id: string
    readonly tags: string[]
    readonly isTest: boolean
    readonly isReplay: boolean
    readonly createdAt: Date
    readonly startedAt: Date
    readonly idempotencyKey?: string
    readonly idempotencyKeyScope?: 'run' | 'attempt' | 'global'
    readonly maxAttempts?: number
    /** Seconds. */
    readonly maxDuration?: number
    readonly version?: string
    readonly priority?: number
    readonly baseCostInCents?: number
    readonly parentTaskRunId?: string
    readonly rootTaskRunId?: string
    readonly region?: string
  }
  readonly task: { readonly id: string; readonly filePath: string }
  readonly queue: { readonly id: string; readonly name: string }
  readonly environment: {
    readonly id: string
    readonly slug: string
    readonly type: 'PRODUCTION' | 'STAGING' | 'DEVELOPMENT' | 'PREVIEW'
    readonly branchName?: string
    /** Left out. */
    readonly git?: GitMeta
  }
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string }
  readonly project: {
    readonly id: string
    readonly ref: string
    readonly slug: string
    readonly name: string
  }
  readonly machine: {
    readonly name: MachineName
    readonly cpu: number
    readonly memory: number
    readonly centsPerMs: number
  }
  readonly batch?: { readonly id: string }
  readonly deployment?: {
    readonly id: string
    readonly shortCode: string
    readonly version: string
    readonly runtime: string
    readonly runtimeVersion: string
    readonly externalId?: string
    readonly git?: GitMeta
  }
}

/** What the hosted service knows of the commit that was deployed. */
interface GitMeta {
  readonly provider?: string
  readonly source?: 'trigger_github_app' | 'github_actions' | 'local'
  readonly ghUsername?: string
  readonly ghUserAvatarUrl?: string
  readonly commitAuthorName?: string
  readonly commitMessage?: string
  readonly commitRef?: string
  readonly commitSha?: string
  readonly dirty?: boolean
  readonly remoteUrl?: string
  readonly pullRequestNumber?: number
  readonly pullRequestTitle?: string
  readonly pullRequestState?: 'open' | 'closed' | 'merged'
}

/** The machines of the hosted service. Here a task runs on the machine of its process. */
export type MachineName =
  'micro' | 'small-1x' | 'small-2x' | 'medium-1x' | 'medium-2x' | 'large-1x' | 'large-2x'

const MACHINES: Readonly<Record<MachineName, readonly [cpu: number, memory: number]>> = {
  micro: [0.25, 0.25],
  'small-1x': [0.5, 0.5],
  'small-2x': [1, 1],
  'medium-1x': [1, 2],
  'medium-2x': [2, 4],
  'large-1x': [4, 8],
  'large-2x': [8, 16],
}

/** The machine of a task, as its options have it. */
export type MachineOption = MachineName | { cpu?: number; memory?: number; preset?: MachineName }

/** @throws TypeError or RangeError for a machine that there is not. */
export function machineName(machine: MachineOption | undefined, owner: string): MachineName {
  if (typeof machine === 'object')
    requireOptions(machine, `machine of ${owner}`, { preset: true, cpu: true, memory: true })
  const name = (typeof machine === 'object' ? machine.preset : machine) ?? 'small-1x'
  if (Object.hasOwn(MACHINES, name)) return name
  throw new RangeError(
    `Cannot use the machine ${show(name)} of ${owner}: it must be one of ${Object.keys(MACHINES).join(', ')}`,
  )
}

/** As much of a task as its context tells. */
export interface TaskPlace {
  readonly machine: MachineName
}

/** The environment that this process passes for. */
export function currentEnvironment(): { readonly slug: string; readonly type: 'PRODUCTION' | 'DEVELOPMENT' } {
  return process.env['NODE_ENV'] === 'production'
    ? { slug: 'prod', type: 'PRODUCTION' }
    : { slug: 'dev', type: 'DEVELOPMENT' }
}

/** The context of the hosted service for an attempt of the engine. */
export function hostedContext(ctx: RunContext, { machine }: TaskPlace): TaskRunContext {
  const { run, task, attempt } = ctx
  const [cpu, memory] = MACHINES[machine]
  const local = { id: 'local', slug: 'local', name: 'local' }
  return {
    attempt: { number: attempt.policyNumber, startedAt: attempt.startedAt },
    run: {
      id: run.id,
      tags: [...run.tags],
      isTest: false,
      isReplay: run.isReplay,
      createdAt: run.createdAt,
      startedAt: run.startedAt,
      maxAttempts: run.maxAttempts,
      ...(run.maxDurationMs === undefined ? {} : { maxDuration: run.maxDurationMs / 1_000 }),
      ...(run.idempotencyKey === undefined ? {} : { idempotencyKey: run.idempotencyKey }),
      ...(run.priority === undefined ? {} : { priority: run.priority }),
      ...(run.parentId === undefined ? {} : { parentTaskRunId: run.parentId, rootTaskRunId: run.rootId }),
    },
    task: { id: task.id, filePath: '' },
    queue: { id: run.queue, name: run.queue },
    environment: { id: 'local', ...currentEnvironment() },
    organization: local,
    project: { ...local, ref: process.env['TRIGGER_PROJECT_REF'] ?? 'local' },
    machine: { name: machine, cpu, memory, centsPerMs: 0 },
    ...(run.batchId === undefined ? {} : { batch: { id: run.batchId } }),
  }
}
