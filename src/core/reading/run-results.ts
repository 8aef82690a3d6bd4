import type { ReleaseHold } from '../../contract/clock.ts'
import type { RunRecord } from '../../contract/records.ts'
import { onAbort } from '../../primitives/abort.ts'
import { isPromise } from '../../primitives/awaitable.ts'
import { messageOf } from '../../primitives/message.ts'
import type { Watcher } from '../changes/watchers.ts'
import { RunFailedError, WaitpointError } from '../../api/errors.ts'
import type { Kernel } from '../kernel.ts'
import type { RunOutcome } from '../../api/run.ts'
import { liveAttempt } from '../attempt/attempt.ts'
import { runNotFound } from '../../api/not-found.ts'
import { GET_RUN } from '../host/storage-calls.ts'
import { isFinal } from '../../contract/run-states.ts'
import { runFailure, sizeOfRun } from '../views/run.ts'
import { fromJson } from '../../api/serialize.ts'

/**
 * Resolves with `read` of the record of a run once it has ended. Rejects when the engine closes first, or the run that
 * asks is canceled.
 */
export async function finalRecord<Result>(
  kernel: Kernel,
  id: string,
  read: (record: RunRecord, kernel: Kernel) => Result,
): Promise<Result> {
  const watcher = kernel.watchers.watchEnd(id)
  const told = (): RunRecord | undefined => watcher.ended
  const attempt = liveAttempt()
  const release = holdCaller(kernel, id, watcher)
  // Only an error is ever the reason why an attempt is aborted.
  const removeAbort = onAbort(attempt?.signal, (reason) => watcher.fail(reason as Error))
  try {
    let asked = kernel.ask(() => executed(kernel, id) ?? kernel.asked(GET_RUN, id), true)
    for (; ; asked = told() ?? kernel.asked(GET_RUN, id)) {
      const answer = isPromise(asked) ? await asked : asked
      // An end that was published while storage was asked counts: the answer may be older, or the run forgotten since.
      const record = told() ?? answer
      if (record === undefined) throw runNotFound(id)
      if (isFinal(record.status)) {
        const turn = kernel.portions.take(sizeOfRun(record), attempt)
        if (turn !== undefined) await turn
        return read(record, kernel)
      }
      await watcher.changed()
    }
  } finally {
    watcher.close()
    removeAbort()
    release?.()
  }
}

/** The run as it executes here: its end will be told. A read would be in the way of what it stores. */
function executed({ executor }: Kernel, runId: string): RunRecord | undefined {
  const attempt = executor.attempts.get(runId)
  return attempt === undefined || attempt.isEnded ? undefined : attempt.record
}

/**
 * Tells the clock of a caller that waits. A clock that knows that nothing will come may fail one outside of runs; one
 * inside of a run does not move a test clock by waiting.
 */
export function holdCaller({ host }: Kernel, id: string, watcher: Watcher): ReleaseHold | undefined {
  const attempt = liveAttempt()
  if (attempt !== undefined) return host.clock.hold?.({ kind: 'watching', id: attempt.id, watched: id })
  const fail = (error: Error): void => {
    failedByClock.add(error)
    watcher.fail(error)
  }
  return host.clock.hold?.({ kind: 'awaited', id, fail })
}

/** Errors of a clock that knows that nothing will come: they are meant for the caller, not part of an outcome. */
const failedByClock = new WeakSet<Error>()

/** The output of a run that has ended, or the reason why there is none. */
export function outputOf<Output>(record: RunRecord, { values }: Pick<Kernel, 'values'>): Output {
  if (record.status !== 'COMPLETED') throw runFailure(record)
  // The output is of the type the task returns: the caller knows it by the task it names.
  return values.decode(fromJson(record.outputJson)) as Output
}

/** How a run has ended. */
export function outcomeOf<Output>(record: RunRecord, kernel: Pick<Kernel, 'values'>): RunOutcome<Output> {
  const { id, taskId: taskIdentifier } = record
  if (record.status !== 'COMPLETED') return { ok: false, id, taskIdentifier, error: runFailure(record) }
  return { ok: true, id, taskIdentifier, output: outputOf(record, kernel) }
}

/** Codes of errors after which the end of a run cannot be known any more. */
const LOST: readonly string[] = ['ERR_ENGINE_CLOSED', 'ERR_RUN_NOT_FOUND']

/** The outcome of a run whose end cannot be known here: the caller was canceled, say, or storage failed. */
export function lostOutcome<Output>({ id, taskId }: RunRecord, error: unknown): RunOutcome<Output> {
  if (error instanceof Error && failedByClock.has(error)) throw error
  return { ok: false, id, taskIdentifier: taskId, error: lostFailure(id, error) }
}

function lostFailure(runId: string, error: unknown): RunFailedError {
  const details = { runId, cause: error }
  if (error instanceof WaitpointError && LOST.includes(error.code))
    return new RunFailedError(error.code, error.message, details)
  const why = messageOf(error)
  return new RunFailedError('ERR_OUTCOME_UNKNOWN', `Cannot tell how run "${runId}" ended: ${why}`, details)
}
