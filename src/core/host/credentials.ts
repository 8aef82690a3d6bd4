import { AUDIENCE, ISSUER, PUBLIC_CLAIMS } from '../../hosted/access-token.ts'
import type { SignedGrant } from '../../api/access.ts'
import type { Person } from '../../api/question.ts'
import type { Host } from './host.ts'
import { nodeCrypto } from './node-crypto.ts'

const DAY_MS = 86_400_000

/** Told apart from what token URLs are signed with: ids of tokens have no spaces. */
const ACCESS_KEY = 'key of public access tokens'

export interface CredentialOptions {
  readonly baseUrl: string | undefined
  /** Empty: public access tokens are signed with a key that is kept in the storage. */
  readonly secretKeys: readonly string[]
}

/** Token URLs and public access tokens, by which others reach an engine. Computed when first read. */
export class Credentials {
  readonly secretKeys: readonly string[]
  readonly #host: Host
  readonly #baseUrl: string | undefined
  #listening: readonly string[] = []
  #accessKeys: readonly string[] | undefined

  constructor(host: Host, { baseUrl, secretKeys }: CredentialOptions) {
    this.#host = host
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

  /** The address a server listens on, unless the engine was given one; answers a function to call when it no longer does. */
  listensOn(url: string): () => void {
    this.#listening = [...this.#listening, url]
    return () => {
      this.#listening = this.#listening.filter((other) => other !== url)
    }
  }

  get #base(): string {
    return this.baseUrl ?? 'http://waitpoint.invalid'
  }

  /** The callback address of a token (docs/http-api.md): its holder may complete the token. */
  tokenUrl(id: string): string {
    return `${this.#base}/api/v1/waitpoints/tokens/${id}/callback/${this.tokenHash(id)}`
  }

  /** Proves that a callback address was given out by an engine on this storage. */
  tokenHash(id: string): string {
    return hmacSha256(this.#host.urlSecret, internalId(id), 'hex')
  }

  /** The address of the page on which a token is answered, by one person or by any reader (docs/ask-a-person.md). */
  answerLink(id: string, person?: Person): string {
    const named = person === undefined ? '' : `${encode(person)}.`
    return `${this.#base}/answer/${id}/${named}${this.linkProof(id, named)}`
  }

  /** Proves that a link was given out, for this token and this person. It is no proof of a callback address, nor the reverse. */
  linkProof(id: string, named: string): string {
    return hmacSha256(this.#host.urlSecret, `answer ${id} ${named}`, 'base64url')
  }

  /** The keys that public access tokens are checked with; the first one signs them. */
  get accessKeys(): readonly string[] {
    if (this.secretKeys.length > 0) return this.secretKeys
    this.#accessKeys ??= [hmacSha256(this.#host.urlSecret, ACCESS_KEY, 'hex')]
    return this.#accessKeys
  }

  /** An access token for a day, or until a later instant; the same every time it is made. */
  publicAccessToken(
    scopes: readonly string[],
    { from, until = 0 }: { readonly from: number; readonly until?: number | undefined },
  ): string {
    const issuedAt = Math.floor(from / 1_000) * 1_000
    return this.sign({ scopes, issuedAt, expiresAt: Math.max(issuedAt + DAY_MS, until) })
  }

  /** A JWT (HS256, first access key) that may do what is granted. */
  sign({ scopes, issuedAt, expiresAt, restrictions }: SignedGrant): string {
    const iat = Math.floor(issuedAt / 1_000)
    const exp = Math.ceil(expiresAt / 1_000)
    const claims = {
      ...PUBLIC_CLAIMS,
      scopes,
      iss: ISSUER,
      aud: AUDIENCE,
      iat,
      exp,
      ...restrictions,
    }
    const content = `${encode({ alg: 'HS256' })}.${encode(claims)}`
    return `${content}.${hmacSha256(this.accessKeys[0] ?? '', content, 'base64url')}`
  }
}

function hmacSha256(secret: string, text: string, encoding: 'hex' | 'base64url'): string {
  return nodeCrypto().createHmac('sha256', secret).update(text).digest(encoding)
}

function internalId(id: string): string {
  return id.slice(id.indexOf('_') + 1)
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
