import type { CompletedToken, LinkedToken, RetrievedToken, Token } from '../../api/token.ts'
import type { Caller } from '../access/caller.ts'
import { packetText } from '../requests/packet-text.ts'
import { CLIENT_VERSION } from '../../hosted/headers.ts'
import { TIMED_OUT_CODE } from '../../hosted/token.ts'

/** A token, as its creation answers it. */
export function createdTokenJson(token: LinkedToken, request: Request): object {
  const { id, isCached, url, publicAccessToken } = token
  const plain = { id, isCached, url, publicAccessToken }
  return isOfPublishedClient(request) ? plain : { ...plain, link: token.link }
}

/** Whether a request is one of the published client, which is sent no members that the hosted service has not. */
function isOfPublishedClient({ headers }: Request): boolean {
  return headers.has(CLIENT_VERSION)
}

/** The reader of a token: what it is shown depends on its rights, and on its kind. */
export interface TokenReader {
  readonly caller: Pick<Caller, 'hasSecretKey'>
  readonly request: Request
}

/** A token in a list, without its output and error. Runs are for secret keys. */
export function tokenJson(
  token: Token & Partial<RetrievedToken<unknown>>,
  { caller, request }: TokenReader,
): object {
  const {
    output: _output,
    error: _error,
    runId,
    waitingRuns,
    question,
    answeredBy,
    withdrawn,
    ...plain
  } = token
  const shown = isOfPublishedClient(request) ? plain : { ...plain, question, answeredBy, withdrawn }
  // `JSON.stringify` drops undefined members. The published client does not accept null for them.
  return caller.hasSecretKey ? { ...shown, runId, waitingRuns } : shown
}

/** What became of a completion. The published client reads anything but a success as malformed. */
export function completedJson({ success, status, by }: CompletedToken, request: Request): object {
  return isOfPublishedClient(request) ? { success: true, status } : { success, status, by }
}

/** A token with its output as text. For a token that timed out, the output is its error. */
export function retrievedTokenJson(token: RetrievedToken<unknown>, reader: TokenReader): object {
  const { status, output, timeoutAt } = token
  const isTimedOut = status === 'TIMED_OUT'
  const value = isTimedOut
    ? { code: TIMED_OUT_CODE, message: `Waitpoint timed out at ${timeoutAt.toISOString()}` }
    : output
  const { text, type } = packetText(value)
  return {
    ...tokenJson(token, reader),
    output: text,
    outputType: type,
    outputIsError: isTimedOut,
  }
}
