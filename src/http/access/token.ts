import type { SignedGrant } from '../../api/access.ts'
import { PUBLIC_CLAIMS } from '../../hosted/access-token.ts'
import { ACCESS_TOKEN, ACCESS_TOKEN_CLAIMS } from '../../hosted/headers.ts'
import { parseDuration } from '../../primitives/duration.ts'
import { show } from '../../primitives/require.ts'
import type { JsonObject } from '../requests/json-body.ts'
import { Refusal } from '../refusal.ts'
import { SKIPPABLE } from '../../hosted/skippable-columns.ts'
import { readSkipColumns } from './skip-columns.ts'

const DEFAULT_LIFE_MS = 900_000
const NAMES = ['scopes', 'expirationTime', 'oneTimeUse', 'realtime']

/** The response headers in which the published client finds the access token of a created object. */
export function accessTokenHeaders(token: string): Readonly<Record<string, string>> {
  return { [ACCESS_TOKEN]: token, [ACCESS_TOKEN_CLAIMS]: JSON.stringify(PUBLIC_CLAIMS) }
}

/**
 * The access token that the body of a request asks for: `{ scopes, expirationTime?, oneTimeUse?, realtime? }`.
 *
 * @throws Refusal 400 for anything else. A restriction that is misspelt must not be left out.
 */
export function readAccessTokenBody(body: JsonObject, now: number): SignedGrant {
  const unknown = Object.keys(body).find((name) => !NAMES.includes(name))
  if (unknown !== undefined)
    throw new Refusal(400, `Validation error: unknown member ${show(unknown)}; use ${NAMES.join(', ')}`)
  const { scopes, expirationTime, oneTimeUse = false, realtime } = body
  if (typeof oneTimeUse !== 'boolean')
    throw new Refusal(400, 'Validation error: "oneTimeUse" must be true or false')
  if (readSkipColumns(realtime) === undefined)
    throw new Refusal(
      400,
      `Validation error: "realtime" must be { "skipColumns": […] }, with columns of ${SKIPPABLE.join(', ')}`,
    )
  return {
    scopes: readScopes(scopes),
    issuedAt: now,
    expiresAt: readExpiration(expirationTime, now),
    restrictions: { ...(oneTimeUse ? { otu: true } : {}), ...(realtime === undefined ? {} : { realtime }) },
  }
}

function readScopes(scopes: unknown): readonly string[] {
  const isScope = (scope: unknown): scope is string =>
    typeof scope === 'string' && /^[^:\s]+(?::|$)/.test(scope)
  if (Array.isArray(scopes) && scopes.length > 0 && scopes.every(isScope)) return scopes
  throw new Refusal(400, 'Validation error: "scopes" must be a list of scopes such as "read:runs:run_1"')
}

/** The instant at which it expires. A number is seconds since 1970; a duration counts from now. */
function readExpiration(asked: unknown, now: number): number {
  const seconds = typeof asked === 'number' ? asked : Math.ceil((now + lifeMs(asked)) / 1_000)
  if (Number.isSafeInteger(seconds) && seconds * 1_000 > now) return seconds * 1_000
  throw new Refusal(400, `Cannot use expirationTime ${show(asked)}: it must be in the future`)
}

function lifeMs(asked: unknown): number {
  if (asked === undefined) return DEFAULT_LIFE_MS
  // `parseDuration` refuses everything except strings.
  return parseDuration(asked as string, 'expirationTime')
}
