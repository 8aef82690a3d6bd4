import type { Person } from './question.ts'
import type { AnyTask, RunReference } from './run.ts'
import type { Duration, TokenReference } from './token.ts'

/** The rights of an access token. Everything that is not named is refused. */
export interface AccessGrant {
  /**
   * Runs and tokens that it may read.
   *
   * @default nothing
   */
  readonly read?: ReadGrant
  /**
   * The waitpoint tokens that it may complete.
   *
   * @default none
   */
  readonly complete?: TokenReference | readonly TokenReference[]
  /**
   * The tasks that it may trigger, themselves or by their ids.
   *
   * @default none
   */
  readonly trigger?: string | AnyTask | readonly (string | AnyTask)[]
  /**
   * The runs that it may cancel.
   *
   * @default none
   */
  readonly cancel?: RunReference | readonly RunReference[]
  /**
   * Scopes as they stand in the access token, such as `read:runs`: all runs. docs/http-api.md names those of each route.
   *
   * @default none
   */
  readonly scopes?: readonly string[]
}

/** The runs and tokens that an access token may read. */
export interface ReadGrant {
  /**
   * Runs: their records, metadata and streams, now and as they change.
   *
   * @default none
   */
  readonly runs?: RunReference | readonly RunReference[]
  /**
   * All runs with any of these tags.
   *
   * @default none
   */
  readonly tags?: string | readonly string[]
  /**
   * Waitpoint tokens, with their outputs.
   *
   * @default none
   */
  readonly tokens?: TokenReference | readonly TokenReference[]
}

/** Options of `createAccessToken`. */
export interface AccessTokenOptions {
  /**
   * How long the access token is good for, or the instant until which it is.
   *
   * @default `'15m'`
   */
  readonly expiresIn?: Duration | Date
  /**
   * Whether it makes one change only, such as one run, and then does nothing any more.
   *
   * @default false
   */
  readonly oneTimeUse?: boolean
  /**
   * Columns of runs that it does not show, such as `payload`.
   *
   * @default none
   */
  readonly skipColumns?: readonly string[]
  /**
   * Who holds it: stored with the tokens that it completes. No other answerer can be named with it.
   *
   * @default not known
   */
  readonly by?: Person
}

/** The rights of an access token, and its lifetime. */
export interface SignedGrant {
  readonly scopes: readonly string[]
  readonly issuedAt: number
  readonly expiresAt: number
  /** Further restrictions, by the names of their claims. */
  readonly restrictions?: Readonly<Record<string, unknown>> | undefined
}
