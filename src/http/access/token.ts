import { SignJWT } from 'jose'
import { parseDuration } from '../../primitives/duration.ts'
import { show } from '../../primitives/require.ts'
import type { JsonObject } from '../requests/json-body.ts'
import { Refusal } from '../refusal.ts'

/** The claims that the published client puts into access tokens it signs itself. */
export const PUBLIC_CLAIMS: JsonObject = { sub: 'waitpoint', pub: true }
export const ISSUER = 'https://id.trigger.dev'
export const AUDIENCE = 'https://api.trigger.dev'

const DEFAULT_LIFE_MS = 900_000

/** The response headers in which the published client finds the access token of a created object. */
export function accessTokenHeaders(token: string): Readonly<Record<string, string>> {
  return { 'x-trigger-jwt': token, 'x-trigger-jwt-claims': JSON.stringify(PUBLIC_CLAIMS) }
}

/** Signs an access token for the body of a request: `{ scopes, expirationTime?, oneTimeUse? }`. */
export async function signAccessToken(
  { scopes, expirationTime, oneTimeUse }: JsonObject,
  { key, now }: { readonly key: string; readonly now: number },
): Promise<string> {
  const claims = {
    ...PUBLIC_CLAIMS,
    scopes: readScopes(scopes),
    ...(oneTimeUse === true ? { otu: true } : {}),
  }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setIssuedAt(Math.floor(now / 1_000))
    .setExpirationTime(readExpiration(expirationTime, now))
    .sign(Buffer.from(key))
}

function readScopes(scopes: unknown): readonly string[] {
  const isScope = (scope: unknown): scope is string =>
    typeof scope === 'string' && /^[^:\s]+(?::|$)/.test(scope)
  if (Array.isArray(scopes) && scopes.length > 0 && scopes.every(isScope)) return scopes
  throw new Refusal(400, 'Validation error: "scopes" must be a list of scopes such as "read:runs:run_1"')
}

/** Seconds since 1970. A number is that already; a duration counts from now. */
function readExpiration(asked: unknown, now: number): number {
  const expiresAt = typeof asked === 'number' ? asked : Math.ceil((now + lifeMs(asked)) / 1_000)
  if (Number.isSafeInteger(expiresAt) && expiresAt * 1_000 > now) return expiresAt
  throw new Refusal(400, `Cannot use expirationTime ${show(asked)}: it must be in the future`)
}

function lifeMs(asked: unknown): number {
  if (asked === undefined) return DEFAULT_LIFE_MS
  // `parseDuration` refuses everything except strings.
  return parseDuration(asked as string, 'expirationTime')
}
