import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import type { World } from './world.ts'

/** Which token: the oldest that waits, of those with this tag. */
export interface TokenChoice {
  readonly tag?: string
  /** None of these ids. */
  readonly not?: readonly string[]
  /** Not before nothing is left to do at this instant: its run, and every other, has parked. Default false. */
  readonly isAtRest?: boolean
}

/** When questions are answered. */
export type Moment = 'busy' | 'at rest' | 'too late'

/** A token that waits for an answer. */
export interface WaitingToken {
  readonly id: string
  readonly tags: readonly string[]
}

/** Nothing is left that could make the token somebody waits for. */
export class NoTokenError extends Error {
  constructor({ tag }: TokenChoice) {
    const which = tag === undefined ? '' : ` with tag "${tag}"`
    super(`Cannot wait for a token${which}: there is none, and nothing is left that could create it`)
    this.name = 'NobodyAskedError'
  }
}

interface Question {
  readonly filter: TokenChoice
  readonly answer: Deferred<WaitingToken>
}

/** Who waits for a token to come into being; looked for whenever everything is at rest, without a boundary. */
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
   * Answers what can be answered; whether anything was.
   *
   * @param moment `too late`: nothing is left that could make a token; one that is settled will do, as its deadline may
   * have passed before anybody looked.
   */
  async serve(moment: Moment): Promise<boolean> {
    const before = this.#questions.length
    const isLate = moment === 'too late'
    const open: Question[] = []
    for (const question of this.#questions) {
      const isTooEarly = moment === 'busy' && question.filter.isAtRest === true
      const token = isTooEarly ? undefined : await this.#find(question.filter, isLate)
      if (token !== undefined) question.answer.resolve(token)
      else if (isLate) question.answer.reject(new NoTokenError(question.filter))
      else open.push(question)
    }
    this.#questions = open
    return open.length < before
  }

  async #find({ tag, not = [] }: TokenChoice, isLate: boolean): Promise<WaitingToken | undefined> {
    const { storage } = this.#world
    const status = isLate ? undefined : (['WAITING'] as const)
    const filter = { kind: 'MANUAL', status, tags: tag === undefined ? undefined : [tag] } as const
    // Asked as if no time had passed: a look from outside must not settle anything.
    const { records } = await storage.tokens.list(filter, { limit: 100 }, 0)
    const wanted = not.length === 0 ? records : records.filter(({ id }) => !not.includes(id))
    return wanted.at(isLate ? 0 : -1)
  }
}
