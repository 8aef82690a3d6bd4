import type { TokenRecord } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import type { TokenOperation } from './token-history.ts'
import { type TokenAction, tokenStateOf } from './token-model.ts'

/** The state of a token in an answer. */
export interface SeenToken {
  readonly record: TokenRecord
  readonly won?: boolean
  readonly settledNow: boolean
}

/** Numbers calls and answers, for calls that overlap. */
export class CallRecorder {
  readonly operations: TokenOperation[] = []
  #events = 0

  /** Makes a call about a token; `read` extracts the state of the token from the answer. */
  async record<Answer>(
    action: TokenAction & { readonly what: string },
    call: () => Awaitable<Answer>,
    read: (answer: Answer) => SeenToken | undefined,
  ): Promise<Answer> {
    const calledAt = (this.#events += 1)
    const answer = await call()
    const answeredAt = (this.#events += 1)
    const seen = read(answer)
    if (seen !== undefined) {
      const { record, won = false, settledNow } = seen
      const reply = {
        answeredAt,
        seen: tokenStateOf(record),
        completedAt: record.completedAt,
        won,
        settledNow,
      }
      this.operations.push({ ...action, calledAt, reply })
    }
    return answer
  }
}
