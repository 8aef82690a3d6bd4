import type { CreatedToken, RetrievedToken, Token } from '../../api/token.ts'

/** What is kept of the output of a token that timed out, as the published client knows it. */
const TIMED_OUT = 'TRIGGER_WAITPOINT_TIMEOUT'
const JSON_TYPE = 'application/json'

/** A token as it was created. */
export function createdTokenJson({ id, isCached, url, publicAccessToken }: CreatedToken): object {
  return { id, isCached, url, publicAccessToken }
}

/** A token in a list: without what it has not. */
export function tokenJson(token: Token): object {
  const { id, url, status, tags, createdAt, timeoutAt, completedAt } = token
  const { idempotencyKey, idempotencyKeyExpiresAt } = token
  // What is undefined is left out of the text: the published client takes no null.
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
  }
}

/** A token with its output, as text: that of a token that timed out is its error. */
export function retrievedTokenJson(token: RetrievedToken<unknown>): object {
  const { status, output, timeoutAt } = token
  const isTimedOut = status === 'TIMED_OUT'
  const value = isTimedOut
    ? { code: TIMED_OUT, message: `Waitpoint timed out at ${timeoutAt.toISOString()}` }
    : output
  return {
    ...tokenJson(token),
    output: value === undefined ? undefined : JSON.stringify(value),
    outputType: JSON_TYPE,
    outputIsError: isTimedOut,
  }
}
