import type { TestClock } from '../clock/test-clock.ts'
import type { Engine } from '../core/engine.ts'
import type { CompletedToken, Token, TokenReference } from '../core/token.ts'
import { type AnswerInstant, readInstant } from './answer-instant.ts'
import { TestError } from './test-error.ts'
import type { Witness } from './witness.ts'

/** A token by what it is tagged with, where its id is known to the task only. */
export interface TokenByTag {
  readonly tag: string
}

/** Options of `t.complete`. */
export interface AnswerOptions {
  /**
   * When: `'+23h'` from now, or an instant (a `Date`, an ISO 8601 string, epoch milliseconds). Time moves there first.
   * Default: now.
   */
  readonly at?: AnswerInstant | undefined
}

/** An engine under test, with what is known of its storage. */
export interface AnsweredEngine {
  readonly engine: Engine
  readonly clock: TestClock
  readonly witness: Witness
}

/** The outside world of the tasks under test: whoever finds their tokens and answers. */
export class TokenAnswers {
  readonly #engine: Engine
  readonly #clock: TestClock
  readonly #witness: Witness

  constructor({ engine, clock, witness }: AnsweredEngine) {
    this.#engine = engine
    this.#clock = clock
    this.#witness = witness
  }

  /**
   * The one waiting token with this tag, as soon as there is one: time moves on until then.
   *
   * @throws TestError `ERR_NO_SUCH_TOKEN` when none will come; `ERR_SEVERAL_TOKENS`.
   */
  async waitingToken({ tag }: TokenByTag): Promise<Token> {
    await this.#clock.settle()
    for (;;) {
      const { data: found } = await this.#engine.wait.listTokens({ status: 'WAITING', tags: [tag] })
      const [token, ...others] = found
      if (others.length > 0) throw severalTokens(tag, found)
      if (token !== undefined) return token
      await this.#untilTagged(tag)
    }
  }

  /** Completes a token at an instant, and lets everything settle that comes of it. */
  async complete(
    token: TokenReference | TokenByTag,
    output?: unknown,
    { at }: AnswerOptions = {},
  ): Promise<CompletedToken> {
    const instant = at === undefined ? undefined : readInstant(at, this.#clock.now())
    const found = isByTag(token) ? await this.waitingToken(token) : token
    if (instant !== undefined) await this.#clock.advanceTo(instant)
    const completed = await this.#engine.wait.completeToken(found, output)
    await this.#clock.settle()
    return completed
  }

  async #untilTagged(tag: string): Promise<void> {
    try {
      await this.#clock.until(() => this.#witness.hasToken(tag))
    } catch (cause) {
      throw noSuchToken(tag, cause)
    }
  }
}

function isByTag(token: TokenReference | TokenByTag): token is TokenByTag {
  return typeof token === 'object' && 'tag' in token && !('id' in token)
}

function severalTokens(tag: string, tokens: readonly Token[]): TestError {
  const ids = tokens.map(({ id }) => `"${id}"`).join(', ')
  return new TestError(
    'ERR_SEVERAL_TOKENS',
    `Cannot choose a token by tag "${tag}": ${ids} are waiting. Give them tags of their own, or name one by its id`,
  )
}

function noSuchToken(tag: string, cause: unknown): TestError {
  const why = cause instanceof Error ? cause.message : String(cause)
  const error = new TestError(
    'ERR_NO_SUCH_TOKEN',
    `Cannot find a waiting token with tag "${tag}": there is none, and none will come. Create it with ` +
      `\`tags: ["${tag}"]\`, trigger the task first, or complete what it waits for before.\n${why}`,
  )
  error.cause = cause
  return error
}
