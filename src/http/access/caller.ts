import { errors, jwtVerify } from 'jose'
import type { Answerer } from '../../api/question.ts'
import type { Inside } from '../../core/inside.ts'
import { AUDIENCE, ISSUER } from '../../hosted/access-token.ts'
import { readSkipColumns } from './skip-columns.ts'
import { type Access, allows, idsIn } from './scope.ts'
import { areEqualSecrets } from './equal-secrets.ts'
import { Refusal } from '../refusal.ts'

/** Names a secret key by its position in the list, because the key itself must not be stored. */
const SECRET_KEY = 'secret key '

/** The permissions of a credential. */
interface Grant {
  readonly scopes: readonly string[]
  readonly expiresAt?: number | undefined
  readonly isForOneUse?: boolean
  readonly skipColumns?: ReadonlySet<string>
  readonly by?: Answerer | undefined
}

const NONE: ReadonlySet<string> = new Set()

/**
 * The sender of a request, as its credential proves. A secret key allows everything; an access token allows its scopes.
 */
export class Caller {
  /** Identifies the credential in counters. It contains no secret. */
  readonly credential: string
  /** The instant at which the credential expires. Secret keys do not expire. */
  readonly expiresAt: number | undefined
  /** For an access token that may be used once: the instant at which it expires. */
  readonly onceUntil: number | undefined
  /** The columns of runs that the credential never shows. */
  readonly skipColumns: ReadonlySet<string>
  /** Who holds the credential, if it was made for one. */
  readonly by: Answerer | undefined
  readonly #scopes: readonly string[]

  constructor(credential: string, { scopes, expiresAt, isForOneUse = false, skipColumns = NONE, by }: Grant) {
    this.credential = credential
    this.skipColumns = skipColumns
    this.expiresAt = expiresAt
    this.onceUntil = isForOneUse ? expiresAt : undefined
    this.by = by
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

  /** The ids of the single objects of a type that are allowed. */
  idsOf(action: string, type: string): readonly string[] {
    return idsIn(this.#scopes, { action, type })
  }

  /** @throws Refusal 403 unless the caller has at least one of these accesses. */
  require(...anyOf: readonly Access[]): void {
    if (!this.mayAny(anyOf)) throw forbidden()
  }

  /** @throws Refusal 403 for any access token, with any scopes. */
  requireSecretKey(): void {
    if (!this.hasSecretKey) throw forbidden()
  }
}

/**
 * Reads the credential of a request.
 *
 * @throws Refusal 401 without a credential, or with one that proves nothing, or nothing any more.
 */
export async function readCaller(
  { headers }: Request,
  { credentials, host }: Pick<Inside, 'credentials' | 'host'>,
): Promise<Caller> {
  const presented = /^Bearer +(\S.*)$/i.exec(headers.get('authorization') ?? '')?.[1]
  if (presented === undefined) throw unauthorized('Invalid or Missing API key')
  const matches = credentials.secretKeys.map((key) => areEqualSecrets(presented, key))
  const place = matches.indexOf(true)
  if (place >= 0) return new Caller(`${SECRET_KEY}${place}`, { scopes: ['admin'] })
  const parts = presented.split('.')
  if (parts.length !== 3) throw unauthorized('Invalid API key')
  for (const key of credentials.accessKeys) {
    const grant = await signedGrant(presented, key, host.now())
    // The signature covers the text of both parts, so a token has exactly one spelling.
    if (grant !== undefined) return new Caller(`${parts[0]}.${parts[1]}`, grant)
  }
  throw unauthorized('Public Access Token is invalid')
}

/**
 * The grant of a public access token that is signed with `key`, or `undefined` for any other token.
 *
 * @throws Refusal 401 for one that has expired.
 */
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
    const { scopes, otu, realtime, by } = payload
    const skipColumns = readSkipColumns(realtime)
    // A restriction that cannot be read is not left out: the token proves nothing.
    if (skipColumns === undefined || (by !== undefined && !isPerson(by))) return undefined
    return {
      scopes: Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : [],
      // The expiry is required.
      expiresAt: (payload.exp ?? 0) * 1_000,
      // The published client writes `otu` into a token that may trigger a task once.
      isForOneUse: otu !== undefined && otu !== false,
      skipColumns,
      by,
    }
  } catch (error) {
    // Its signature is right: the fault is the last one that is looked for.
    if (error instanceof errors.JWTExpired) throw expiredAccess()
    // A token with any other fault proves nothing.
    return undefined
  }
}

function isPerson(by: unknown): by is Answerer {
  return typeof by === 'object' && by !== null && 'id' in by && typeof by.id === 'string'
}

/** The refusal of an access token that was good until now. */
export function expiredAccess(): Refusal {
  return unauthorized('Public Access Token has expired')
}

function unauthorized(message: string): Refusal {
  return new Refusal(401, message, { headers: { 'www-authenticate': 'Bearer' } })
}

function forbidden(): Refusal {
  const details = { code: 'unauthorized', param: 'access_token', type: 'authorization' }
  return new Refusal(403, 'Unauthorized', { details })
}
