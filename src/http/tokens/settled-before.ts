import type { CompletedToken } from '../../api/token.ts'
import { completedToken, type Inside } from '../../core/inside.ts'

/** A smaller body takes no longer to read and parse than its token takes to look up. */
const SMALL_BYTES = 16_384

/**
 * The answer to a completion whose token was settled before, without a look at its body: a token's address can be used any
 * number of times, and a large body takes long to parse. `undefined` if the body has to be read, and the storage to be asked.
 */
export async function settledBefore(
  { headers }: Request,
  { inside, id }: { readonly inside: Pick<Inside, 'call' | 'host' | 'news'>; readonly id: string },
): Promise<CompletedToken | undefined> {
  const length = headers.get('content-length')
  if (length !== null && Number(length) <= SMALL_BYTES) return undefined
  const { host, news } = inside
  const read = await inside.call(() => host.storage.tokens.get(id, host.now()))
  if (read?.record.kind !== 'MANUAL' || read.record.status === 'WAITING') return undefined
  if (read.settledNow) news.tokenSettled(read.record)
  return completedToken(read.record, false)
}
