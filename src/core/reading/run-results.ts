import type { Hold } from '../../contract/clock.ts'
import type { RunRecord } from '../../contract/records.ts'
import { onAbort } from '../../primitives/abort.ts'
import { isPromise } from '../../primitives/awaitable.ts'
import type { Watcher } from '../changes/watchers.ts'
import { RunFailedError, WaitpointError } from '../../api/errors.ts'
import type { Kernel } from '../kernel.ts'
import type { RunOutcome } from '../../api/run.ts'
import { currentAttempt } from '../attempt/attempt.ts'
import { runNotFound } from '../host/not-found.ts'
import { isFinal } from '../../contract/run-states.ts'
import { runFailure } from '../views/run.ts'
import { fromJson } from '../host/serialize.ts'

/** The record of a run once it has ended. Rejects when the engine closes first, or the run that asks is canceled. */
export async function finalRecord(kernel: Kernel, runId: string): Promise<RunRecord> {
  const { host, watchers } = kernel
  const watcher = watchers.watchEnd(runId)
  const told = (): RunRecord | undefined => watcher.ended
  const attempt = currentAttempt()
  const release = attempt === undefined ? host.clock.hold?.(awaited(runId, watcher)) : undefined
  // Only an error is ever the reason why an attempt is aborted.
  const removeAbort = onAbort(attempt?.signal, (reason) => watcher.fail(reason as Error))
  try {
    // Asked before the engine began to close, it is answered while that takes its time.
    let read = kernel.ask(() => host.storage.runs.get(runId))
    for (; ; read = told() ?? host.storage.runs.get(runId)) {
      const answer = isPromise(read) ? await read : read
      // An end that was published while storage was asked counts: the answer may be older, or the run forgotten since.
      const record = told() ?? answer
      if (record === undefined) throw runNotFound(runId)
      if (isFinal(record.status)) return record
      await watcher.changed()
    }
  } finally {
    watcher.close()
    removeAbort()
    release?.()
  }
}

/** Tells the clock of a caller that waits; a clock that knows nothing will come may fail it. */
export function awaited(id: string, watcher: Watcher): Hold {
  return { kind: 'awaited', id, fail: (error) => watcher.fail(error) }
}

/** The output of a run that has ended, or the reason why there is none. */
export function outputOf<Output>(record: RunRecord): Output {
  if (record.status !== 'COMPLETED') throw runFailure(record)
  // The output is of the type the task returns: the caller knows it by the task it names.
  return fromJson(record.outputJson) as Output
}

/** How a run has ended. */
export function outcomeOf<Output>(record: RunRecord): RunOutcome<Output> {
  const { id, taskId: taskIdentifier } = record
  if (record.status !== 'COMPLETED') return { ok: false, id, taskIdentifier, error: runFailure(record) }
  return { ok: true, id, taskIdentifier, output: outputOf(record) }
}

/** Codes of errors after which the end of a run cannot be known any more. */
const LOST: readonly string[] = ['ERR_ENGINE_CLOSED', 'ERR_RUN_NOT_FOUND']

/** The outcome of a run that cannot be known any more; rethrows what is the caller's matter, such as its own cancel. */
export function lostOutcome<Output>({ id, taskId }: RunRecord, error: unknown): RunOutcome<Output> {
  if (!(error instanceof WaitpointError) || !LOST.includes(error.code)) throw error
  const failure = new RunFailedError(error.code, error.message, { runId: id, cause: error })
  return { ok: false, id, taskIdentifier: taskId, error: failure }
}
