import { type AnyTask } from '@trigger.dev/core/v3'
import { useRealtimeRunWithStreams } from '@trigger.dev/react-hooks'
import { type ReactElement } from 'react'
import { type RunAccess } from './progress.tsx'

/** The streams of the run that is shown. */
interface Streams {
  readonly words: string
  readonly steps: { readonly name: string }
}

/** Two streams of a run, each chunk as it comes. */
export function Draft({ runId, accessToken, baseURL }: RunAccess): ReactElement {
  const { streams, run } = useRealtimeRunWithStreams<AnyTask, Streams>(runId, { accessToken, baseURL })
  return (
    <section>
      <p data-testid="words">{streams.words?.join(' ')}</p>
      <ol data-testid="steps">
        {streams.steps?.map(({ name }) => (
          <li key={name}>{name}</li>
        ))}
      </ol>
      <p data-testid="draft-status">{run?.status}</p>
    </section>
  )
}
