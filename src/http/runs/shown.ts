import type { StoredError } from '../../api/errors.ts'
import type { RetrievedRun, Run } from '../../api/run.ts'
import type { Caller } from '../access/caller.ts'

/** The members of a run that columns of the published client stand for, as they are when they are left out. */
const LEFT_OUT: Readonly<Record<string, Partial<Record<keyof Run, unknown>>>> = {
  startedAt: { startedAt: undefined },
  delayUntil: { delayedUntil: undefined },
  expiredAt: { expiredAt: undefined },
  completedAt: { finishedAt: undefined },
  usageDurationMs: { durationMs: 0 },
  payload: { payload: undefined, title: undefined },
  metadata: { metadata: {} },
  output: { output: undefined },
  runTags: { tags: [] },
  error: { error: undefined },
}

/**
 * A run without the columns that the credential of the caller leaves out. Stacks name the files of the server, owners its
 * machines, queues and their keys say how it is set up and for which customers: all of them are for secret keys.
 */
export function shownRun<Shown extends Run & Partial<Pick<RetrievedRun, 'attempts' | 'owner'>>>(
  run: Shown,
  { hasSecretKey, skipColumns }: Caller,
): Shown {
  if (hasSecretKey) return run
  const skipped = Array.from(skipColumns, (column) => LEFT_OUT[column] ?? {})
  const { queue: _queue, concurrencyKey: _key, priority: _priority, owner: _owner, ...shown } = run
  const error = run.error && withoutStack(run.error)
  const attempts = skipColumns.has('error')
    ? []
    : run.attempts?.map((attempt) => ({ ...attempt, error: withoutStack(attempt.error) }))
  return Object.assign(shown, error && { error }, run.attempts && { attempts }, ...skipped) as Shown
}

function withoutStack({ stack: _stack, ...error }: StoredError): StoredError {
  return error
}
