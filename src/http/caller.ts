import { jwtVerify } from 'jose'
import type { KernelParts } from '../core/kernel.ts'
import { areEqualSecrets } from './equal-secrets.ts'
import { Refusal } from './refusal.ts'

const ISSUER = 'https://id.trigger.dev'
const AUDIENCE = 'https://api.trigger.dev'

/** The scopes of whoever sends a request: a secret key may do everything, an access token what is written in it. */
export async function callerScopes(
  { headers }: Request,
  { credentials, host }: Pick<KernelParts, 'credentials' | 'host'>,
): Promise<readonly string[]> {
  const presented = /^Bearer +(\S.*)$/i.exec(headers.get('authorization') ?? '')?.[1]
  if (presented === undefined) throw unauthorized('Invalid or Missing API key')
  const matches = credentials.secretKeys.map((key) => areEqualSecrets(presented, key))
  if (matches.includes(true)) return ['admin']
  if (presented.split('.').length !== 3) throw unauthorized('Invalid API key')
  for (const key of credentials.secretKeys) {
    const scopes = await signedScopes(presented, key, host.now())
    if (scopes !== undefined) return scopes
  }
  throw unauthorized('Public Access Token is invalid')
}

/** What a public access token signed with this key allows at an instant; nothing for one that is not. */
async function signedScopes(jwt: string, key: string, now: number): Promise<readonly string[] | undefined> {
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
    return Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : []
  } catch {
    // Whatever is wrong with it, it proves nothing.
    return undefined
  }
}

function unauthorized(message: string): Refusal {
  return new Refusal(401, message, { headers: { 'www-authenticate': 'Bearer' } })
}
