import type { TokenRecord } from '../contract/records.ts'
import type { Credentials } from './host/credentials.ts'
import type { CreatedToken } from '../api/token.ts'

/**
 * What `createToken` answers: address and access token are computed when first read.
 *
 * Hot: every token has one. The getters are properties of the object itself, so that they are seen by whoever copies,
 * lists or prints it; but they are the same two functions for all, which is half the time and memory of two closures.
 */
export class CreatedTokenView implements CreatedToken {
  readonly id: string
  readonly isCached: boolean
  declare readonly url: string
  declare readonly publicAccessToken: string
  readonly #record: TokenRecord
  readonly #credentials: Credentials
  #url: string | undefined
  #accessToken: string | undefined

  constructor(record: TokenRecord, isCached: boolean, credentials: Credentials) {
    this.id = record.id
    this.isCached = isCached
    this.#record = record
    this.#credentials = credentials
    Object.defineProperty(this, 'url', CreatedTokenView.#urlProperty)
    Object.defineProperty(this, 'publicAccessToken', CreatedTokenView.#accessTokenProperty)
  }

  static readonly #urlProperty: TypedPropertyDescriptor<string> & ThisType<CreatedTokenView> = {
    enumerable: true,
    get() {
      return (this.#url ??= this.#credentials.tokenUrl(this.id))
    },
  }

  static readonly #accessTokenProperty: TypedPropertyDescriptor<string> & ThisType<CreatedTokenView> = {
    enumerable: true,
    get() {
      return (this.#accessToken ??= this.#credentials.publicAccessToken([`write:waitpoints:${this.id}`], {
        from: this.#record.createdAt,
        until: this.#record.timeoutAt,
      }))
    },
  }
}
