import type { TokenRecord } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import type { TokenCall } from './token-history.ts'

/** What an answer says of a token. */
export interface TokenNews {
  readonly record: TokenRecord
  readonly settledNow: boolean
}

/** Numbers calls as they are made and answered, for calls that are made without awaiting each other. */
export class CallRecorder {
  readonly calls: TokenCall[] = []
  #events = 0

  /** Makes a call about a token; `read` finds in its answer what is said of the token. */
  async record<Answer>(
    what: string,
    call: () => Awaitable<Answer>,
    read: (answer: Answer) => TokenNews | undefined,
  ): Promise<Answer> {
    const madeAt = (this.#events += 1)
    const answer = await call()
    const answeredAt = (this.#events += 1)
    const news = read(answer)
    if (news !== undefined) {
      const { status, outputJson, completedAt } = news.record
      const settled = status === 'WAITING' ? undefined : { status, outputJson, completedAt }
      this.calls.push({ what, madeAt, answeredAt, settled, settledNow: news.settledNow })
    }
    return answer
  }
}
