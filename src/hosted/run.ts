import type { Run } from '../api/run.ts'
import type { MembersOf } from './members.ts'

/** The version of the API that has these names; a client says which one it speaks. */
export const API_VERSION = '2025-07-16'

/** The members of a run that only some have. */
export const RUN_MEMBERS: MembersOf<Omit<Run, 'payload' | 'output' | 'error'>> = {
  title: 'text',
  queue: 'text',
  concurrencyKey: 'text',
  priority: 'number',
  idempotencyKey: 'text',
  debounceKey: 'text',
  batchId: 'text',
  startedAt: 'date',
  finishedAt: 'date',
  delayedUntil: 'date',
  expiredAt: 'date',
  parentId: 'text',
}

/** The members of a run that the service has, and an engine has no use for. */
export const OF_THE_SERVICE = { isTest: false, costInCents: 0, baseCostInCents: 0 } as const

/** The type of an error that the service knows the members of. */
export const ERROR_TYPE = 'BUILT_IN_ERROR'
