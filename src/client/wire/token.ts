import type { TokenStatus } from '../../contract/records.ts'
import { WaitpointTimeoutError } from '../../api/errors.ts'
import type { AnsweredBy, Withdrawal } from '../../api/question.ts'
import type { CompletedToken, RetrievedToken, Token } from '../../api/token.ts'
import { TOKEN_MEMBERS } from '../../hosted/token.ts'
import { defined } from '../../primitives/defined.ts'
import { LAST_INSTANT } from '../../primitives/duration.ts'
import type { Packets } from './packets.ts'
import type { WireRecord } from './record.ts'

/** A token of a list. */
export function readToken(wire: WireRecord): Token {
  const members = wire.members(TOKEN_MEMBERS)
  const { idempotencyKey: _generated, ...others } = members
  return {
    id: wire.requiredText('id'),
    status: readTokenStatus(wire.text('status')),
    url: wire.text('url') ?? '',
    tags: wire.texts('tags'),
    createdAt: wire.requiredDate('createdAt'),
    // The hosted service has tokens without a deadline.
    timeoutAt: wire.date('timeoutAt') ?? new Date(LAST_INSTANT),
    ...questionOf(wire),
    // The hosted service generates keys for tokens without one; those are left out.
    ...(wire.flag('userProvidedIdempotencyKey') === false ? others : members),
  }
}

/** What a token asks, and who settled it: the hosted service has neither. */
function questionOf(wire: WireRecord): Pick<Token, 'question' | 'answeredBy' | 'withdrawn'> {
  return defined({
    question: wire.object('question'),
    answeredBy: wire.object('answeredBy') as AnsweredBy | undefined,
    withdrawn: wire.object('withdrawn') as Withdrawal | undefined,
  })
}

/** A token with its output, or its time-out error. */
export async function readRetrievedToken<Output>(
  wire: WireRecord,
  packets: Packets,
  signal: AbortSignal | undefined,
): Promise<RetrievedToken<Output>> {
  const token = readToken(wire)
  const { id, status, timeoutAt, withdrawn } = token
  if (status === 'TIMED_OUT') {
    const ended = withdrawn ? 'was withdrawn' : 'timed out'
    const error = new WaitpointTimeoutError(`Waitpoint "${id}" ${ended} at ${timeoutAt.toISOString()}`)
    return { ...token, error: Object.assign(error, withdrawn && { withdrawn }) }
  }
  if (status === 'WAITING') {
    const waitingRuns = wire.value('waitingRuns') === undefined ? undefined : wire.texts('waitingRuns')
    return { ...token, ...defined({ waitingRuns }) }
  }
  const output = await packets.read({ data: wire.value('output'), type: wire.text('outputType') }, signal)
  // The creator and the completer of a token agree on the type of its output.
  return output === undefined ? token : { ...token, output: output as Output }
}

/** What became of a completion or a change. The hosted service says of no one who settled a token. */
export function readCompletedToken(wire: WireRecord): CompletedToken {
  const by = wire.object('by') as Withdrawal | undefined
  return {
    success: wire.requiredFlag('success'),
    status: readTokenStatus(wire.text('status')),
    ...defined({ by }),
  }
}

/** A token status of the engine. An unknown status counts as completed. */
function readTokenStatus(status: string | undefined): TokenStatus {
  return status === 'WAITING' || status === 'TIMED_OUT' ? status : 'COMPLETED'
}
