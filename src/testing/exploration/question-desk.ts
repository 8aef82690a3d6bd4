import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import type { World } from './world.ts'

/** Which token: the oldest that waits, of those with this tag. */
export interface TokenFilter {
  readonly tag?: string
}

/** Nothing is left that could make the token somebody waits for. */
export class NobodyAskedError extends Error {
  constructor({ tag }: TokenFilter) {
    const which = tag === undefined ? '' : ` with tag "${tag}"`
    super(`Cannot wait for a token${which}: there is none, and nothing is left that could create it`)
    this.name = 'NobodyAskedError'
  }
}

interface Question {
  readonly filter: TokenFilter
  readonly answer: Deferred<{ readonly id: string }>
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

  waitingToken(filter: TokenFilter): Promise<{ readonly id: string }> {
    const answer = createDeferred<{ readonly id: string }>()
    this.#questions.push({ filter, answer })
    return answer.promise
  }

  /**
   * Answers what can be answered; whether anything was.
   *
   * @param isLate Nothing is left that could make a token: one that is settled will do, as its deadline may have passed
   * before anybody looked.
   */
  async serve(isLate: boolean): Promise<boolean> {
    const before = this.#questions.length
    const open: Question[] = []
    for (const question of this.#questions) {
      const id = await this.#find(question.filter, isLate)
      if (id !== undefined) question.answer.resolve({ id })
      else if (isLate) question.answer.reject(new NobodyAskedError(question.filter))
      else open.push(question)
    }
    this.#questions = open
    return open.length < before
  }

  async #find({ tag }: TokenFilter, isLate: boolean): Promise<string | undefined> {
    const { storage } = this.#world
    const status = isLate ? undefined : (['WAITING'] as const)
    const filter = { kind: 'MANUAL', status, tags: tag === undefined ? undefined : [tag] } as const
    // Asked as if no time had passed: a look from outside must not settle anything.
    const { records } = await storage.tokens.list(filter, { limit: 100 }, 0)
    return records.at(isLate ? 0 : -1)?.id
  }
}
