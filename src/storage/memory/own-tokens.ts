import type { KeyRecord, TokenRecord } from '../../contract/records.ts'

/**
 * The tokens that one run created, by name: the value of a key that is the run's own, else the id. Hot, and kept for as
 * long as the run is: nearly all runs create one token, so that a map is made for the second only.
 */
export type OwnTokens<Token extends OwnToken> = Token | Map<string, Token> | undefined

export interface OwnToken {
  readonly record: TokenRecord
}

/** Whether a key is of the run that created the token: its scope is that run, and it lasts as long. */
export function isOwnKey(key: KeyRecord | undefined, runId: string | undefined): key is KeyRecord {
  return key !== undefined && key.scope === runId && key.expiresAt === undefined
}

/** The token of a name. */
export function ownToken<Token extends OwnToken>(own: OwnTokens<Token>, name: string): Token | undefined {
  if (own instanceof Map) return own.get(name)
  return own !== undefined && nameOf(own.record) === name ? own : undefined
}

/** All of them, the oldest first. */
export function listOwn<Token extends OwnToken>(own: OwnTokens<Token>): readonly Token[] {
  if (own === undefined) return []
  return own instanceof Map ? [...own.values()] : [own]
}

/** `own` with `token` in it. */
export function withOwn<Token extends OwnToken>(own: OwnTokens<Token>, token: Token): OwnTokens<Token> {
  if (own === undefined) return token
  const tokens = own instanceof Map ? own : new Map([[nameOf(own.record), own]])
  return tokens.set(nameOf(token.record), token)
}

/** `own` without `token`. */
export function withoutOwn<Token extends OwnToken>(own: OwnTokens<Token>, token: Token): OwnTokens<Token> {
  if (!(own instanceof Map)) return own === token ? undefined : own
  own.delete(nameOf(token.record))
  return own.size === 0 ? undefined : own
}

function nameOf({ id, key, runId }: TokenRecord): string {
  return isOwnKey(key, runId) ? key.value : id
}
