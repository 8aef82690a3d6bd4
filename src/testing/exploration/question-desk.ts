import type { TokenStatus } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import type { World } from './world.ts'

/** Selects a token: the oldest waiting one, or the oldest with this tag. */
export interface TokenChoice {
  readonly tag?: string
  /** Excludes tokens by id. */
  readonly not?: readonly string[]
  /** Waits until nothing is left to do at the current instant, so that every run has parked. Default false. */
  readonly isAtRest?: boolean
}

/** The occasion on which questions are answered. */
export type Moment = 'busy' | 'at rest' | 'too late'

/** A token that waits for an answer. */
export interface WaitingToken {
  readonly id: string
  readonly tags: readonly string[]
}

/** The awaited token does not exist, and nothing is left that could create it. */
export class NoTokenError extends Error {
  constructor({ tag }: TokenChoice, tokens: readonly string[]) {
    const which = tag === undefined ? '' : ` with tag "${tag}"`
    const others = tokens.length === 0 ? 'There are no tokens at all' : `There are ${tokens.join(', ')}`
    super(
      `Cannot wait for a token${which}: there is none, and nothing is left that could create it. ${others}`,
    )
    this.name = 'NoTokenError'
  }
}

/** So many tokens are named in a message. */
const NAMED_TOKENS = 10
const STATUSES: Readonly<Record<TokenStatus, string>> = {
  WAITING: 'waits',
  COMPLETED: 'is completed',
  TIMED_OUT: 'has timed out',
}

interface Question {
  readonly filter: TokenChoice
  readonly answer: Deferred<WaitingToken>
}

/** The pending requests for tokens. They are checked whenever all code is at rest, without a boundary. */
export class QuestionDesk {
  readonly #world: World
  #questions: Question[] = []

  constructor(world: World) {
    this.#world = world
  }

  get isEmpty(): boolean {
    return this.#questions.length === 0
  }

  waitingToken(filter: TokenChoice): Promise<WaitingToken> {
    const answer = createDeferred<WaitingToken>()
    this.#questions.push({ filter, answer })
    return answer.promise
  }

  /**
   * Answers all questions that can be answered. Returns whether there was one.
   *
   * @param moment `too late`: nothing is left that could create a token. A settled token is accepted then, because its
   * deadline may have passed unnoticed.
   */
  serve(moment: Moment): Awaitable<boolean> {
    let served: Awaitable<boolean> = false
    for (const question of this.#questions)
      served = chain(served, (before) => chain(this.#answer(question, moment), (isNow) => before || isNow))
    return served
  }

  /** Answers a question if it can be answered. */
  #answer(question: Question, moment: Moment): Awaitable<boolean> {
    const { filter, answer } = question
    if (moment === 'busy' && filter.isAtRest === true) return false
    const isLate = moment === 'too late'
    return chain(this.#find(filter, isLate), (token) => {
      if (token === undefined && !isLate) return false
      this.#questions = this.#questions.filter((other) => other !== question)
      if (token === undefined)
        return chain(this.#tokens(), (tokens) => {
          answer.reject(new NoTokenError(filter, tokens))
          return true
        })
      answer.resolve(token)
      return true
    })
  }

  /** The newest tokens, each with its tags and what became of it: `[first] of order, which has timed out`. */
  #tokens(): Awaitable<readonly string[]> {
    const { storage, names } = this.#world
    return chain(storage.tokens.list({ kind: 'MANUAL' }, { limit: NAMED_TOKENS }, 0), ({ records }) =>
      records.map(({ id, tags, status }) => {
        const [maker = 'body'] = names.of(id)?.split('.') ?? []
        return `[${tags.join(', ')}] of ${maker === 'body' ? 'the test' : maker}, which ${STATUSES[status]}`
      }),
    )
  }

  #find({ tag, not = [] }: TokenChoice, isLate: boolean): Awaitable<WaitingToken | undefined> {
    const { storage } = this.#world
    const status = isLate ? undefined : (['WAITING'] as const)
    const filter = { kind: 'MANUAL', status, tags: tag === undefined ? undefined : [tag] } as const
    // With the instant 0, because this look from outside must not settle a token.
    return chain(storage.tokens.list(filter, { limit: 100 }, 0), ({ records }) => {
      const wanted = not.length === 0 ? records : records.filter(({ id }) => !not.includes(id))
      return wanted.at(isLate ? 0 : -1)
    })
  }
}
