import { useRealtimeRun } from '@trigger.dev/react-hooks'
import { type ReactElement, useState } from 'react'

/** A run, by the access it was given: the published package has no name for these three. */
export interface RunAccess {
  readonly runId: string
  readonly accessToken: string
  readonly baseURL: string
}

/** How far a run is, and how it ended. */
export function Progress({ runId, accessToken, baseURL }: RunAccess): ReactElement {
  const [ended, setEnded] = useState('not yet')
  const { run, error } = useRealtimeRun(runId, {
    accessToken,
    baseURL,
    onComplete: ({ status }) => setEnded(status),
  })
  return (
    <dl>
      <dt>Status</dt>
      <dd data-testid="status">{run?.status ?? 'unknown'}</dd>
      <dt>Ended</dt>
      <dd data-testid="ended">{ended}</dd>
      <dt>Output</dt>
      <dd data-testid="output">{JSON.stringify(run?.output)}</dd>
      <dt>Error</dt>
      <dd data-testid="error">{error?.message ?? run?.error?.message}</dd>
    </dl>
  )
}
