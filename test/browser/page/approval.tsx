import { useWaitToken } from '@trigger.dev/react-hooks'
import { type ReactElement } from 'react'

/** A token, by the access it was given. */
interface TokenAccess {
  readonly tokenId: string
  readonly accessToken: string
  readonly baseURL: string
}

/** Two buttons, each of which completes a token; the first click wins. */
export function Approval({ tokenId, accessToken, baseURL }: TokenAccess): ReactElement {
  const { complete, isCompleted, isLoading, error } = useWaitToken(tokenId, { accessToken, baseURL })
  return (
    <form>
      <button type="button" disabled={isLoading} onClick={() => complete({ approved: true })}>
        Approve
      </button>
      <button type="button" disabled={isLoading} onClick={() => complete({ approved: false })}>
        Refuse
      </button>
      <p data-testid="answer">{error?.message ?? (isCompleted ? 'Thank you' : '?')}</p>
    </form>
  )
}
