import type { TokenRecord } from './records.ts'
import type { RunBinding } from './storage.ts'

/** The token that binds a place of a run to the run of an id. */
export function boundTo(binding: RunBinding, runId: string): TokenRecord {
  return { ...binding, outputJson: JSON.stringify(runId) }
}

/** The run that such a token names. */
export function boundRunId({ outputJson = '""' }: TokenRecord): string {
  // Written by `boundTo`.
  return JSON.parse(outputJson) as string
}

/** Whether a token is such a one: other bindings have keys of users, or none, or are those of named waits for a token. */
export function isRunBinding({ kind, key, runId, outputJson = '' }: TokenRecord): boolean {
  return (
    kind === 'BINDING' && key !== undefined && key.scope === runId && !outputJson.startsWith('"waitpoint_')
  )
}
