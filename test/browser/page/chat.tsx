import { type ReactElement, useState } from 'react'
import { useConversation } from 'waitpoint/react'

/** What is said, as it comes, and a field to say something. */
export function Chat({ run }: { readonly run: string }): ReactElement {
  const { text, send, stop, isSending, status, error } = useConversation<string, string>(run, {
    stream: 'reply',
    input: 'messages',
  })
  const [message, setMessage] = useState('')
  const submit = async (): Promise<void> => {
    if (await send(message)) setMessage('')
  }
  return (
    <form onSubmit={(event) => (event.preventDefault(), void submit())}>
      <p data-testid="text">{text}</p>
      <input aria-label="Message" value={message} onChange={({ target }) => setMessage(target.value)} />
      <button type="button" disabled={isSending} onClick={() => void submit()}>
        Send
      </button>
      <button type="button" onClick={() => void stop()}>
        Stop
      </button>
      <p data-testid="status">{error?.message ?? status}</p>
    </form>
  )
}
