import { RunFailedError, WaitpointError, failureOf } from '../../api/errors.ts'
import type { Run, RunOutcome } from '../../api/run.ts'
import type { CallOptions, RemoteRunHandle } from '../namespaces.ts'
import { errorOf } from '../wire/error.ts'

export interface RemoteRunOptions {
  readonly id: string
  readonly isCached: boolean
  /** Empty if the service sent no token. */
  readonly publicAccessToken: string
  readonly taskIdentifier: string
  /** Resolves with the run when it has ended. */
  readonly ended: (id: string, signal: AbortSignal | undefined) => Promise<Run>
}

/** A run of a service. */
export class RemoteRun<Output> implements RemoteRunHandle<Output> {
  readonly id: string
  readonly isCached: boolean
  readonly publicAccessToken: string
  /** Properties, not methods, so that they work when taken out of the handle. */
  readonly result: (options?: CallOptions) => Promise<Output>
  readonly outcome: (options?: CallOptions) => Promise<RunOutcome<Output>>

  constructor({ id, isCached, publicAccessToken, taskIdentifier, ended }: RemoteRunOptions) {
    this.id = id
    this.isCached = isCached
    this.publicAccessToken = publicAccessToken
    this.result = async ({ signal } = {}) => outputOf<Output>(await ended(id, signal))
    this.outcome = ({ signal } = {}) =>
      ended(id, signal).then(outcomeOf<Output>, (error: unknown) =>
        lostOutcome({ id, taskIdentifier, error }),
      )
  }
}

function outputOf<Output>(run: Run): Output {
  if (run.status !== 'COMPLETED') throw runFailure(run)
  // The caller names the task, so the output has the type of that task.
  return run.output as Output
}

function outcomeOf<Output>(run: Run): RunOutcome<Output> {
  const { id, taskIdentifier, status } = run
  if (status !== 'COMPLETED') return { ok: false, id, taskIdentifier, error: runFailure(run) }
  return { ok: true, id, taskIdentifier, output: outputOf(run) }
}

function runFailure({ id, taskIdentifier: taskId, status, error }: Run): RunFailedError {
  return failureOf({ id, taskId, status }, error === undefined ? undefined : errorOf(error))
}

/** The outcome of a run whose service cannot be reached. Errors of the caller, such as its signal's, are thrown on. */
function lostOutcome<Output>(lost: {
  readonly id: string
  readonly taskIdentifier: string
  readonly error: unknown
}): RunOutcome<Output> {
  const { id, taskIdentifier, error } = lost
  if (!(error instanceof WaitpointError)) throw error
  const failure = new RunFailedError(error.code, error.message, { runId: id, cause: error })
  return { ok: false, id, taskIdentifier, error: failure }
}
