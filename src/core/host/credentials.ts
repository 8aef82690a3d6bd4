import { hmacSha256 } from '../../primitives/digest.ts'
import type { Host } from './host.ts'

const DAY_SECONDS = 86_400
const ISSUER = 'https://id.trigger.dev'
const AUDIENCE = 'https://api.trigger.dev'

export interface CredentialOptions {
  readonly baseUrl: string | undefined
  readonly secretKeys: readonly string[]
}

/** Token URLs and public access tokens, by which others reach an engine. Computed when first read. */
export class Credentials {
  readonly secretKeys: readonly string[]
  readonly #kernel: { readonly host: Host }
  readonly #baseUrl: string | undefined
  #listening: readonly string[] = []

  constructor(kernel: { readonly host: Host }, { baseUrl, secretKeys }: CredentialOptions) {
    this.#kernel = kernel
    this.#baseUrl = baseUrl?.replace(/\/+$/, '')
    this.secretKeys = secretKeys
  }

  /** Where the handler is reached, as the engine was told. */
  get givenUrl(): string | undefined {
    return this.#baseUrl
  }

  /** Where the handler is reached, if that is known. */
  get baseUrl(): string | undefined {
    return this.#baseUrl ?? this.#listening[0]
  }

  /** The address a server listens on, unless the engine was given one; answers what to call when it no longer does. */
  listensOn(url: string): () => void {
    this.#listening = [...this.#listening, url]
    return () => {
      this.#listening = this.#listening.filter((other) => other !== url)
    }
  }

  /** The callback address of a token (docs/http-api.md): its holder may complete the token. */
  tokenUrl(id: string): string {
    const base = this.baseUrl ?? 'http://waitpoint.invalid'
    return `${base}/api/v1/waitpoints/tokens/${id}/callback/${this.tokenHash(id)}`
  }

  /** Proves that a callback address was given out by an engine on this storage. */
  tokenHash(id: string): string {
    return hmacSha256(this.#kernel.host.urlSecret, internalId(id), 'hex')
  }

  /** A JWT (HS256, first secret key) that may do `scopes` until `expiresAt`; the same every time it is made. */
  publicAccessToken(
    scopes: readonly string[],
    validity: { readonly from: number; readonly until?: number | undefined },
  ): string {
    const issuedAt = Math.floor(validity.from / 1_000)
    const until = validity.until === undefined ? 0 : Math.ceil(validity.until / 1_000)
    const exp = Math.max(issuedAt + DAY_SECONDS, until)
    return this.#sign({ sub: 'waitpoint', pub: true, scopes, iss: ISSUER, aud: AUDIENCE, iat: issuedAt, exp })
  }

  #sign(claims: object): string {
    const content = `${encode({ alg: 'HS256' })}.${encode(claims)}`
    const signature = hmacSha256(this.secretKeys[0] ?? '', content, 'base64url')
    return `${content}.${signature}`
  }
}

function internalId(id: string): string {
  return id.slice(id.indexOf('_') + 1)
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
