import type { CreatedToken, RetrievedToken, Token } from '../../api/token.ts'
import type { Caller } from '../access/caller.ts'
import { packetText } from '../requests/packet-text.ts'

/** The output that the published client expects for a token that timed out. */
const TIMED_OUT = 'TRIGGER_WAITPOINT_TIMEOUT'

/** A token, as its creation answers it. */
export function createdTokenJson({ id, isCached, url, publicAccessToken }: CreatedToken): object {
  return { id, isCached, url, publicAccessToken }
}

/** A token in a list, without its output and error. The run that made it is for secret keys. */
export function tokenJson(token: Token, { hasSecretKey }: Pick<Caller, 'hasSecretKey'>): object {
  const { id, url, status, tags, createdAt, timeoutAt, completedAt } = token
  const { idempotencyKey, idempotencyKeyExpiresAt } = token
  // `JSON.stringify` drops undefined members. The published client does not accept null for them.
  return {
    id,
    url,
    status,
    tags,
    createdAt,
    timeoutAt,
    completedAt,
    idempotencyKey,
    idempotencyKeyExpiresAt,
    runId: hasSecretKey ? token.runId : undefined,
  }
}

/** A token with its output as text. For a token that timed out, the output is its error. */
export function retrievedTokenJson(
  token: RetrievedToken<unknown>,
  caller: Pick<Caller, 'hasSecretKey'>,
): object {
  const { status, output, timeoutAt } = token
  const isTimedOut = status === 'TIMED_OUT'
  const value = isTimedOut
    ? { code: TIMED_OUT, message: `Waitpoint timed out at ${timeoutAt.toISOString()}` }
    : output
  const { text, type } = packetText(value)
  return {
    ...tokenJson(token, caller),
    waitingRuns: caller.hasSecretKey ? token.waitingRuns : undefined,
    output: text,
    outputType: type,
    outputIsError: isTimedOut,
  }
}
