import type { StoredError } from '../../api/errors.ts'
import { plainValue } from '../../api/noted-value.ts'
import type { RetrievedRun, Run } from '../../api/run.ts'
import { API_VERSION, ERROR_TYPE, OF_THE_SERVICE } from '../../hosted/run.ts'
import { OLDER_NAMES } from '../../hosted/statuses.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { Caller } from '../access/caller.ts'
import { plainText, storedPacketText } from '../requests/packet-text.ts'
import type { ReadableRun } from './access.ts'

/** The service has several environments. An engine counts as one. */
const ENVIRONMENT = { id: 'waitpoint', name: 'waitpoint' }

/** A run in a list, without payload, output and error; `retrieve` returns those. */
export function runJson(run: Run, apiVersion?: string): object {
  const { payload: _payload, output: _output, error: _error, isCanceled: _alias, ...listed } = run
  return {
    ...listed,
    ...statusName(run, apiVersion),
    ...flags(run),
    ...OF_THE_SERVICE,
    env: ENVIRONMENT,
  }
}

/** A run with all its fields. */
export function retrievedRunJson(run: RetrievedRun, apiVersion?: string): Readonly<Record<string, unknown>> {
  const { error, attempts, isCanceled: _alias, ...rest } = withPlainValues(run)
  return {
    ...rest,
    ...statusName(run, apiVersion),
    ...flags(run),
    ...OF_THE_SERVICE,
    depth: run.parentId === undefined ? 0 : 1,
    triggerFunction: 'trigger',
    relatedRuns: {},
    ...(error === undefined ? {} : { error: errorJson(error) }),
    attempts: attempts.map((attempt) => ({ ...attempt, error: errorJson(attempt.error) })),
  }
}

/** The text of {@link retrievedRunJson}. Of what is stored as JSON no value is made: it may be large. */
export function retrievedRunText({ run, record }: ReadableRun, caller: Caller, apiVersion?: string): string {
  const { metadata: _left, ...rest } = retrievedRunJson(run, apiVersion)
  const { payload, output, metadata = '{}' } = shownTexts(record, caller)
  const large = Object.entries({ payload, output, metadata }).flatMap(([name, text]) =>
    text === undefined ? [] : [`,"${name}":${text}`],
  )
  return `${JSON.stringify(rest).slice(0, -1)}${large.join('')}}`
}

/** The stored JSON of a run, without the columns that the credential of the caller leaves out. */
export function shownTexts(
  { status, payloadJson, outputJson, metadataJson }: RunRecord,
  { skipColumns }: Pick<Caller, 'skipColumns'>,
): Readonly<Partial<Record<'payload' | 'output' | 'metadata', string>>> {
  return {
    ...(payloadJson !== undefined && !skipColumns.has('payload') && { payload: plainText(payloadJson) }),
    ...(outputJson !== undefined &&
      status === 'COMPLETED' &&
      !skipColumns.has('output') && { output: plainText(outputJson) }),
    ...(metadataJson !== undefined && !skipColumns.has('metadata') && { metadata: metadataJson }),
  }
}

/** A run whose payload and output are JSON: values with notes are without them. */
export function withPlainValues<Shown extends Run>(run: Shown): Shown {
  const { payload, output } = run
  const [plainPayload, plainOutput] = [plainValue(payload), plainValue(output)]
  if (plainPayload === payload && plainOutput === output) return run
  return { ...run, payload: plainPayload, ...('output' in run ? { output: plainOutput } : {}) }
}

/** The result of a run in the format of the service, or `undefined` while the run has not ended. */
export function runResultJson(
  { run, record }: ReadableRun,
  { skipColumns }: Pick<Caller, 'skipColumns'>,
): object | undefined {
  const { id, taskIdentifier, status, error } = run
  if (!run.isCompleted) return undefined
  if (status === 'COMPLETED') {
    const { text, type } = storedPacketText(skipColumns.has('output') ? undefined : record.outputJson)
    return { ok: true, id, taskIdentifier, output: text, outputType: type }
  }
  const { message, name, stackTrace } = errorJson(error ?? { name: 'Error', message: `The run is ${status}` })
  const built = { type: ERROR_TYPE, name, message, stackTrace: stackTrace ?? '' }
  return { ok: false, id, taskIdentifier, error: built }
}

/** Clients of older versions of the API, which name another version or none, know some statuses by other names. */
function statusName({ status }: Run, apiVersion: string | undefined): { readonly status: string } {
  return { status: apiVersion === API_VERSION ? status : (OLDER_NAMES[status] ?? status) }
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
