import { useInputStreamSend } from '@trigger.dev/react-hooks'
import { type ReactElement, useState } from 'react'
import { type RunAccess } from './progress.tsx'

/** A field whose text is sent into the run. */
export function Composer({ runId, accessToken, baseURL }: RunAccess): ReactElement {
  const [text, setText] = useState('')
  const access = { accessToken, baseURL }
  const { send, isLoading, isReady, error } = useInputStreamSend<{ text: string }>('messages', runId, access)
  return (
    <form>
      <input aria-label="Message" value={text} onChange={({ target }) => setText(target.value)} />
      <button type="button" disabled={!isReady || isLoading} onClick={() => send({ text })}>
        Send
      </button>
      <p data-testid="sent">{error === undefined ? (isLoading ? 'sending' : 'ready') : error.message}</p>
    </form>
  )
}
