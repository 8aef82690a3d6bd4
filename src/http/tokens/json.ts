import type { CreatedToken, RetrievedToken, Token } from '../../api/token.ts'
import type { Caller } from '../access/caller.ts'
import { packetText } from '../requests/packet-text.ts'
import { TIMED_OUT_CODE } from '../../hosted/token.ts'

/** A token, as its creation answers it. */
export function createdTokenJson({ id, isCached, url, publicAccessToken }: CreatedToken): object {
  return { id, isCached, url, publicAccessToken }
}

/** A token in a list, without its output and error. Runs are for secret keys. */
export function tokenJson(
  token: Token & Partial<RetrievedToken<unknown>>,
  { hasSecretKey }: Pick<Caller, 'hasSecretKey'>,
): object {
  const { output: _output, error: _error, runId, waitingRuns, ...shown } = token
  // `JSON.stringify` drops undefined members. The published client does not accept null for them.
  return hasSecretKey ? { ...shown, runId, waitingRuns } : shown
}

/** A token with its output as text. For a token that timed out, the output is its error. */
export function retrievedTokenJson(
  token: RetrievedToken<unknown>,
  caller: Pick<Caller, 'hasSecretKey'>,
): object {
  const { status, output, timeoutAt } = token
  const isTimedOut = status === 'TIMED_OUT'
  const value = isTimedOut
    ? { code: TIMED_OUT_CODE, message: `Waitpoint timed out at ${timeoutAt.toISOString()}` }
    : output
  const { text, type } = packetText(value)
  return {
    ...tokenJson(token, caller),
    output: text,
    outputType: type,
    outputIsError: isTimedOut,
  }
}
