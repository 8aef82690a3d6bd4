import { tokenNotFound } from '../../api/not-found.ts'
import type { CompletedToken, Duration, WithdrawTokenOptions } from '../../api/token.ts'
import type { Awaitable, TokenChange, TokenChanged, TokenRead } from '../../contract/storage.ts'
import { type OptionNames, requireOptions } from '../../primitives/require.ts'
import { chain } from '../../primitives/awaitable.ts'
import { parseDeadline } from '../../primitives/duration.ts'
import { assertOpen, type Attempt, fenceOf } from '../attempt/attempt.ts'
import { type RepeatableCall, SETTLE_TOKEN } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { completedToken, questionOf } from '../views/question.ts'
import { UnknownAnswerer } from '../views/unknown-answerer.ts'
import { answeredJson, readApprovers } from './questions.ts'

const WITHDRAW_NAMES: OptionNames<WithdrawTokenOptions> = { reason: true, by: true }
const BY_CALL = new UnknownAnswerer('call')

/** Made twice, it changes nothing more. */
const CHANGE_TOKEN: RepeatableCall<TokenChange, TokenChanged | 'stale' | undefined> = {
  ask: (storage, request) => storage.tokens.change(request),
}

/** Changes a token that waits, in one step. */
export class TokenChanger {
  readonly #kernel: Kernel
  readonly #id: string
  readonly #scope: Attempt | undefined

  constructor(kernel: Kernel, id: string) {
    this.#kernel = kernel
    this.#id = id
    this.#scope = kernel.attempt()
  }

  /** `wait.withdrawToken`: a settle that makes the token time out now, and says who has done it. */
  async withdrawToken(options: WithdrawTokenOptions): Promise<CompletedToken> {
    requireOptions(options, 'the options of wait.withdrawToken', WITHDRAW_NAMES)
    const { reason, by = BY_CALL } = options
    const answered = answeredJson(by, reason)
    const { host, breath } = this.#kernel
    if (host.storage.timesOut !== true)
      throw new TypeError(
        `Cannot withdraw token "${this.#id}": the storage of this engine cannot end a wait before its deadline; give it Storage.timesOut`,
      )
    const scope = this.#scope
    if (scope !== undefined) await breath.turn(scope)
    return this.#made((place) => {
      const settle = { ...place, outputJson: undefined, answeredJson: answered, isTimeOut: true }
      const settled = this.#kernel.written(scope, SETTLE_TOKEN, settle)
      return chain(settled, (answer) => answer && { ...answer, isDone: answer.won })
    })
  }

  /** `wait.extendToken`. */
  async extendToken(timeout: Duration | Date): Promise<CompletedToken> {
    const timeoutAt = parseDeadline(timeout, { now: this.#kernel.host.now(), name: 'timeout' })
    return this.#change(() => ({ timeoutAt }))
  }

  /** `wait.reassignToken`. */
  async reassignToken(given: readonly string[]): Promise<CompletedToken> {
    const approvers = readApprovers(given)
    return this.#change((questionJson) => ({
      questionJson: JSON.stringify({ ...questionOf({ questionJson }), approvers }),
    }))
  }

  /** `to` says what the token becomes, of what it asks. */
  #change(
    to: (question: string | undefined) => Pick<TokenChange, 'questionJson' | 'timeoutAt'>,
  ): Promise<CompletedToken> {
    return this.#made((place) => {
      const changed = this.#kernel.written(this.#scope, CHANGE_TOKEN, { ...place, ...to(place.question) })
      return chain(changed, (answer) => answer && { ...answer, isDone: answer.changed })
    })
  }

  /** Makes a change, once more if the token asks something else than was thought. */
  async #made(make: (place: ChangePlace) => Awaitable<ChangeMade | undefined>): Promise<CompletedToken> {
    const { host, publisher, ticker } = this.#kernel
    let question: string | undefined
    for (;;) {
      assertOpen(this.#scope)
      const place = { id: this.#id, question, fence: fenceOf(this.#scope), by: host.owner, now: host.now() }
      const made = await this.#asked(() => make(place))
      if (made?.record.kind !== 'MANUAL') throw tokenNotFound(this.#id)
      const { record, isDone, settledNow } = made
      const { status, timeoutAt } = record
      if (isDone && status === 'WAITING' && timeoutAt !== undefined)
        ticker.dueAt(timeoutAt, 'token', this.#id)
      if (isDone || settledNow) publisher.token(record)
      if (isDone || status !== 'WAITING') return completedToken(record, isDone)
      question = record.questionJson
    }
  }

  /** If a call fails, it may be stored all the same: the next tick then finds what is due, and the runs that go on. */
  async #asked<Answer>(ask: () => Awaitable<Answer>): Promise<Answer> {
    try {
      return await ask()
    } catch (error) {
      this.#kernel.ticker.answerLost('a change of a token that failed')
      throw error
    }
  }
}

/** What every change names. */
type ChangePlace = Pick<TokenChange, 'id' | 'question' | 'fence' | 'by' | 'now'>

interface ChangeMade extends Pick<TokenRead, 'record' | 'settledNow'> {
  readonly isDone: boolean
}
