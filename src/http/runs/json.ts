import type { RetrievedRun, Run, StoredError } from '../../api/run.ts'
/** The costs that the service reports for a run. */
const NO_COSTS = { costInCents: 0, baseCostInCents: 0 }
/** The service has several environments. An engine counts as one. */
const ENVIRONMENT = { id: 'waitpoint', name: 'waitpoint' }

/** A run in a list, without payload, output and error; `retrieve` returns those. */
export function runJson(run: Run): object {
  const { payload: _payload, output: _output, error: _error, ...listed } = run
  return { ...listed, ...flags(run), ...NO_COSTS, isTest: false, env: ENVIRONMENT }
}

/** A run with all its fields. */
export function retrievedRunJson(run: RetrievedRun): object {
  const { error, ...rest } = run
  return {
    ...rest,
    ...flags(run),
    ...NO_COSTS,
    isTest: false,
    depth: run.parentId === undefined ? 0 : 1,
    triggerFunction: 'trigger',
    relatedRuns: {},
    ...(error === undefined ? {} : { error: errorJson(error) }),
  }
}

/** The result of a run in the format of the service, or `undefined` while the run has not ended. */
export function runResultJson(run: RetrievedRun): object | undefined {
  const { id, taskIdentifier, status, output, error } = run
  if (!run.isCompleted) return undefined
  if (status === 'COMPLETED') {
    const text = output === undefined ? undefined : JSON.stringify(output)
    return { ok: true, id, taskIdentifier, output: text, outputType: 'application/json' }
  }
  const { message, name, stackTrace } = errorJson(error ?? { name: 'Error', message: `The run is ${status}` })
  const built = { type: 'BUILT_IN_ERROR', name, message, stackTrace: stackTrace ?? '' }
  return { ok: false, id, taskIdentifier, error: built }
}

/**
 * The flags of the service's REST API, which differ from those of a subscription. An expired or timed-out run counts as
 * completed, so that polling ends.
 */
function flags({ status, isFailed }: Run): Pick<Run, 'isFailed'> {
  return { isFailed: isFailed && status !== 'EXPIRED' && status !== 'TIMED_OUT' }
}

interface ErrorJson {
  readonly message: string
  readonly name: string
  readonly stackTrace?: string
  readonly code?: string
}

function errorJson({ message, name, stack, code }: StoredError): ErrorJson {
  return {
    message,
    name,
    ...(stack === undefined ? {} : { stackTrace: stack }),
    ...(code === undefined ? {} : { code }),
  }
}
