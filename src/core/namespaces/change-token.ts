import { tokenNotFound } from '../../api/not-found.ts'
import type { CompletedToken, Duration, ReassignTokenOptions, WithdrawTokenOptions } from '../../api/token.ts'
import type { TokenRecord } from '../../contract/records.ts'
import type { Awaitable, TokenChange, TokenChanged, TokenRead } from '../../contract/storage.ts'
import { type OptionNames, requireOptions } from '../../primitives/require.ts'
import { chain } from '../../primitives/awaitable.ts'
import { parseDeadline } from '../../primitives/duration.ts'
import { assertOpen, type Attempt, fenceOf } from '../attempt/attempt.ts'
import { GET_TOKEN, type RepeatableCall, SETTLE_TOKEN } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { completedToken, questionOf } from '../views/question.ts'
import { UnknownAnswerer } from '../views/unknown-answerer.ts'
import { answeredJson, readAnswerer, readApprovers, requireApprover } from './questions.ts'

const WITHDRAW_NAMES: OptionNames<WithdrawTokenOptions> = { reason: true, by: true }
const REASSIGN_NAMES: OptionNames<ReassignTokenOptions> = { by: true }
const BY_CALL = new UnknownAnswerer('call')

/** A change, and the token as it was read before. */
interface ChangeOfRead extends TokenChange {
  readonly was: TokenRecord
}

/**
 * A token that is no longer as it was read has been changed by the first call, or by one beside it, which counts as the later one. To
 * change it again would undo what came after.
 */
export const CHANGE_TOKEN: RepeatableCall<ChangeOfRead, TokenChanged | 'stale' | undefined> = {
  ask: (storage, { was: _, ...request }) => storage.tokens.change(request),
  again: async (storage, { was, ...request }) => {
    const { id, questionJson, now } = request
    const read = await storage.tokens.get(id, now)
    if (read?.record.status !== 'WAITING') return read && { ...read, changed: false }
    const member = questionJson === undefined ? 'timeoutAt' : 'questionJson'
    return read.record[member] === was[member] ? storage.tokens.change(request) : { ...read, changed: true }
  },
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
    const { host, breath } = this.#kernel
    const scope = this.#scope
    // A call of a run may be made again: it is told from others that withdraw with the same words.
    const call = scope && host.made('call', host.now()).id
    const answered = answeredJson(by, reason, call)
    if (host.storage.timesOut !== true)
      throw new TypeError(
        `Cannot withdraw token "${this.#id}": the storage of this engine cannot end a wait before its deadline; give it Storage.timesOut`,
      )
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
  async reassignToken(given: readonly string[], options: ReassignTokenOptions): Promise<CompletedToken> {
    requireOptions(options, 'the options of wait.reassignToken', REASSIGN_NAMES)
    const approvers = readApprovers(given)
    const by = options.by && readAnswerer(options.by)
    return this.#change((questionJson) => {
      const question = questionOf({ questionJson }) ?? {}
      if (by !== undefined) requireApprover(`Cannot reassign token "${this.#id}"`, question, by)
      return { questionJson: JSON.stringify({ ...question, approvers }) }
    })
  }

  /** `to` says what the token becomes, of what it asks. Read first: see `CHANGE_TOKEN`. */
  #change(
    to: (question: string | undefined) => Pick<TokenChange, 'questionJson' | 'timeoutAt'>,
  ): Promise<CompletedToken> {
    return this.#made((place, was) => {
      const { id, question, now } = place
      if (was === undefined)
        return chain(this.#kernel.asked(GET_TOKEN, { id, now }), (read) => read && { ...read, isDone: false })
      const changed = this.#kernel.written(this.#scope, CHANGE_TOKEN, { ...place, ...to(question), was })
      return chain(changed, (answer) => answer && { ...answer, isDone: answer.changed })
    })
  }

  /** Makes a change, once more if the token asks something else than was thought. */
  async #made(
    make: (place: ChangePlace, was: TokenRecord | undefined) => Awaitable<ChangeMade | undefined>,
  ): Promise<CompletedToken> {
    const { host, publisher, ticker } = this.#kernel
    let was: TokenRecord | undefined
    for (;;) {
      assertOpen(this.#scope)
      const question = was?.questionJson
      const place = { id: this.#id, question, fence: fenceOf(this.#scope), by: host.owner, now: host.now() }
      const made = await this.#asked(() => make(place, was))
      if (made?.record.kind !== 'MANUAL') throw tokenNotFound(this.#id)
      const { record, isDone, settledNow } = made
      const { status, timeoutAt } = record
      if (isDone && status === 'WAITING' && timeoutAt !== undefined)
        ticker.dueAt(timeoutAt, 'token', this.#id)
      if (isDone || settledNow) publisher.token(record)
      if (isDone || status !== 'WAITING') return completedToken(record, isDone)
      was = record
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
