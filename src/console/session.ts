import type { Inside } from '../core/inside.ts'
import { SpentTokens } from '../http/access/spent-tokens.ts'
import { areEqualSecrets } from '../http/access/equal-secrets.ts'
import { hmacSha256 } from '../primitives/digest.ts'
import { readSignedText, type SignedText, signText } from './signed-text.ts'

const COOKIE = 'waitpoint_console'
/** Says that a login with a key came from this browser. */
const KNOWN_COOKIE = 'waitpoint_console_known'
/** A browser sends one of a name; those of another path may come as well. */
const MOST_COOKIES = 4
const KNOWN_MS = 30 * 86_400_000

/** A browser that the console knows. */
export interface Session {
  /** Whether its user gave a secret key. Without, it only ties forms to the browser that they were sent to. */
  readonly isLoggedIn: boolean
  /** What a form has to carry, so that another site cannot send it. */
  readonly formToken: string
  /** The cookie to set, for a session that is new. */
  readonly cookie?: string
}

type Kind = 'key' | 'visit'

/** Sessions are signed, not stored: each engine with the same keys knows them, and a key that is taken away ends them. */
export class Sessions {
  readonly #inside: Inside
  readonly #basePath: string
  readonly #lengthMs: number
  /** Those that were ended before their time, in the memory of this process. */
  readonly #ended = new SpentTokens()

  constructor(
    inside: Inside,
    { basePath, sessionMs }: { readonly basePath: string; readonly sessionMs: number },
  ) {
    this.#inside = inside
    this.#basePath = basePath
    this.#lengthMs = sessionMs
  }

  /** The session of the cookie that a request carries, if it is valid. */
  read(request: Request): Session | undefined {
    const signed = this.#signedCookies(request, COOKIE).find(
      ({ kind, nonce }) => (kind === 'key' || kind === 'visit') && !this.#ended.has(nonce),
    )
    return signed && sessionOf(signed)
  }

  /** A login, for a request that carried one of the secret keys; or a visit, for one that needs none. */
  begin(request: Request, kind: Kind): Session {
    const signed = signText(this.#inside, { kind, lengthMs: this.#lengthMs })
    return { ...sessionOf(signed), cookie: this.#cookie(request, signed.value, this.#lengthMs) }
  }

  /** Ends the session of a request, for copies of its cookie too; answers the cookie that takes it away. */
  end(request: Request): string {
    const now = this.#inside.host.now()
    for (const { nonce } of this.#signedCookies(request, COOKIE))
      if (!this.#ended.has(nonce)) this.#ended.spend(nonce, { expiresAt: now + this.#lengthMs, now })
    return this.#cookie(request, '', 0)
  }

  /** The cookie of a browser that has logged in, which stays when the session has ended. It opens nothing. */
  known(request: Request): string {
    const { value } = signText(this.#inside, { kind: 'known', lengthMs: KNOWN_MS })
    return cookieOf(request, `${KNOWN_COOKIE}=${value}; Path=${this.#basePath}/login`, KNOWN_MS)
  }

  /** Whether a login came from this browser in the last month. */
  isKnown(request: Request): boolean {
    return this.#signedCookies(request, KNOWN_COOKIE).some(({ kind }) => kind === 'known')
  }

  /** Whether a text is one of the secret keys of the engine. All are compared, so that the time tells nothing. */
  isSecretKey(text: string): boolean {
    return this.#inside.credentials.secretKeys.map((key) => areEqualSecrets(text, key)).includes(true)
  }

  /** The cookie of a session, for all pages. */
  #cookie(request: Request, value: string, lengthMs: number): string {
    const path = this.#basePath === '' ? '/' : this.#basePath
    return cookieOf(request, `${COOKIE}=${value}; Path=${path}`, lengthMs)
  }

  #signedCookies({ headers }: Request, name: string): readonly SignedText[] {
    return (
      (headers.get('cookie')?.split(';') ?? [])
        .map((cookie) => cookie.trim().split('='))
        .filter(([given]) => given === name)
        // Each is compared with what each key signs.
        .slice(0, MOST_COOKIES)
        .map(([, value = '']) => readSignedText(this.#inside, value))
        .filter((signed) => signed !== undefined)
    )
  }
}

function cookieOf(request: Request, cookie: string, lengthMs: number): string {
  const { protocol } = new URL(request.url)
  const isSecure = protocol === 'https:' || request.headers.get('x-forwarded-proto') === 'https'
  const maxAge = Math.floor(lengthMs / 1_000)
  return `${cookie}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

function sessionOf({ kind, value, key }: SignedText): Session {
  return { isLoggedIn: kind === 'key', formToken: hmacSha256(key, `console form ${value}`, 'base64url') }
}
