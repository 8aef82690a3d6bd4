import { jwtVerify } from 'jose'
import type { Kernel } from '../../core/kernel.ts'
import { AUDIENCE, ISSUER } from './token.ts'
import { type Access, allows } from './scope.ts'
import { areEqualSecrets } from './equal-secrets.ts'
import { Refusal } from '../refusal.ts'

/** How one secret key is told from another, by its place: the key itself is nothing to keep. */
const SECRET_KEY = 'secret key '

/** What a credential gives. */
interface Grant {
  readonly scopes: readonly string[]
  readonly expiresAt?: number | undefined
  readonly isForOneUse?: boolean
}

/** Whoever sends a request, as the credential proves it: a secret key may do everything, an access token what it says. */
export class Caller {
  /** The same for every request with this credential, and for no other; without the secret part of it. */
  readonly credential: string
  /** From when on it proves nothing any more; secret keys do not expire. */
  readonly expiresAt: number | undefined
  /** When it expires, of an access token that may be used only once. */
  readonly onceUntil: number | undefined
  readonly #scopes: readonly string[]

  constructor(credential: string, { scopes, expiresAt, isForOneUse = false }: Grant) {
    this.credential = credential
    this.expiresAt = expiresAt
    this.onceUntil = isForOneUse ? expiresAt : undefined
    this.#scopes = scopes
  }

  get hasSecretKey(): boolean {
    return this.credential.startsWith(SECRET_KEY)
  }

  may(access: Access): boolean {
    return allows(this.#scopes, access)
  }

  mayAny(accesses: readonly Access[]): boolean {
    return accesses.some((access) => this.may(access))
  }

  /** @throws Refusal 403 unless one of these is allowed. */
  require(...anyOf: readonly Access[]): void {
    if (!this.mayAny(anyOf)) throw forbidden()
  }

  /** @throws Refusal 403 for an access token, whatever it may do. */
  requireSecretKey(): void {
    if (!this.hasSecretKey) throw forbidden()
  }
}

/**
 * Who sends a request.
 *
 * @throws Refusal 401 without a credential, or with one that proves nothing.
 */
export async function readCaller(
  { headers }: Request,
  { credentials, host }: Pick<Kernel, 'credentials' | 'host'>,
): Promise<Caller> {
  const presented = /^Bearer +(\S.*)$/i.exec(headers.get('authorization') ?? '')?.[1]
  if (presented === undefined) throw unauthorized('Invalid or Missing API key')
  const matches = credentials.secretKeys.map((key) => areEqualSecrets(presented, key))
  const place = matches.indexOf(true)
  if (place >= 0) return new Caller(`${SECRET_KEY}${place}`, { scopes: ['admin'] })
  const parts = presented.split('.')
  if (parts.length !== 3) throw unauthorized('Invalid API key')
  for (const key of credentials.secretKeys) {
    const grant = await signedGrant(presented, key, host.now())
    // What is signed is the text of both parts, so that there is no second spelling of it.
    if (grant !== undefined) return new Caller(`${parts[0]}.${parts[1]}`, grant)
  }
  throw unauthorized('Public Access Token is invalid')
}

/** What a public access token signed with this key allows at an instant; nothing for one that is not. */
async function signedGrant(jwt: string, key: string, now: number): Promise<Grant | undefined> {
  try {
    const { payload } = await jwtVerify(jwt, Buffer.from(key), {
      algorithms: ['HS256'],
      issuer: ISSUER,
      audience: AUDIENCE,
      requiredClaims: ['exp', 'sub'],
      currentDate: new Date(now),
    })
    if (payload['pub'] !== true || !payload.sub) return undefined
    const scopes: unknown = payload['scopes']
    return {
      scopes: Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : [],
      // It is required.
      expiresAt: (payload.exp ?? 0) * 1_000,
      // As the published client signs it for whoever may trigger a task once.
      isForOneUse: payload['otu'] === true,
    }
  } catch {
    // Whatever is wrong with it, it proves nothing.
    return undefined
  }
}

function unauthorized(message: string): Refusal {
  return new Refusal(401, message, { headers: { 'www-authenticate': 'Bearer' } })
}

function forbidden(): Refusal {
  const details = { code: 'unauthorized', param: 'access_token', type: 'authorization' }
  return new Refusal(403, 'Unauthorized', { details })
}
