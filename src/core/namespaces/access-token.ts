import type { AccessGrant, AccessTokenOptions, ReadGrant } from '../../api/access.ts'
import { parseInstant } from '../../primitives/duration.ts'
import {
  idOf,
  type OptionNames,
  requireFlag,
  requireList,
  requireOptions,
  show,
} from '../../primitives/require.ts'
import type { Kernel } from '../kernel.ts'
import { requirePerson } from '../../questions/approvers.ts'
import { SKIPPABLE } from '../../hosted/skippable-columns.ts'

const DEFAULT_LIFE = '15m'
const OPTION_NAMES: OptionNames<AccessTokenOptions> = {
  expiresIn: true,
  oneTimeUse: true,
  skipColumns: true,
  by: true,
}
/** The scope of each part of a grant, to which the id is added. */
const SCOPES: Readonly<Record<Exclude<keyof AccessGrant, 'read' | 'scopes'>, string>> = {
  complete: 'write:waitpoints',
  trigger: 'trigger:tasks',
  cancel: 'cancel:runs',
}
const READ_SCOPES: Readonly<Record<keyof ReadGrant, string>> = {
  runs: 'read:runs',
  tags: 'read:tags',
  tokens: 'read:waitpoints',
}

/**
 * An access token with what is granted. Everything is checked: a grant or a restriction that is misspelt would grant less, or
 * more. The engine loads it when it is first asked for.
 */
export function signAccessToken(
  { credentials, host }: Pick<Kernel, 'credentials' | 'host'>,
  grant: AccessGrant,
  options: AccessTokenOptions = {},
): string {
  requireOptions(options, 'the options of createAccessToken', OPTION_NAMES)
  const now = host.now()
  const { expiresIn = DEFAULT_LIFE } = options
  const expiresAt = parseInstant(expiresIn, { now, name: 'expiresIn' })
  if (expiresAt <= now)
    throw new RangeError(`Cannot use expiresIn ${show(expiresIn)}: it must be in the future`)
  return credentials.sign({
    scopes: scopesOf(grant),
    issuedAt: now,
    expiresAt,
    restrictions: restrictionsOf(options),
  })
}

/** The restrictions as claims of the token. */
function restrictionsOf({
  oneTimeUse,
  skipColumns,
  by,
}: AccessTokenOptions): Readonly<Record<string, unknown>> {
  requireFlag(oneTimeUse, 'oneTimeUse')
  if (skipColumns !== undefined) requireColumns(skipColumns)
  if (by !== undefined) requirePerson(by, 'by')
  return {
    ...(by === undefined ? {} : { by }),
    ...(oneTimeUse === true ? { otu: true } : {}),
    ...(skipColumns === undefined ? {} : { realtime: { skipColumns } }),
  }
}

function requireColumns(columns: readonly string[]): void {
  requireList(columns, 'skipColumns')
  const unknown = columns.find((column) => !SKIPPABLE.includes(column))
  if (unknown !== undefined)
    throw new TypeError(`Cannot skip the column ${show(unknown)}: use ${SKIPPABLE.join(', ')}`)
}

function scopesOf(grant: AccessGrant): readonly string[] {
  requireOptions(grant, 'a grant', { read: true, ...SCOPES, scopes: true })
  const { read = {}, scopes: given = [], ...others } = grant
  requireOptions(read, 'the read of a grant', READ_SCOPES)
  requireList(given, 'the scopes of a grant')
  // `requireOptions` has checked the names.
  const scopes = [
    ...scopesIn(READ_SCOPES, read, 'read.'),
    ...scopesIn(SCOPES, others, ''),
    ...given.map(requireScope),
  ]
  if (scopes.length > 0) return scopes
  throw new TypeError(
    'Cannot create an access token that may do nothing: name what it may read, complete, trigger or cancel',
  )
}

function scopesIn<Name extends string>(
  names: Readonly<Record<Name, string>>,
  granted: Readonly<Partial<Record<Name, unknown>>>,
  where: string,
): readonly string[] {
  return (Object.keys(granted) as Name[]).flatMap((name) => {
    const given = granted[name]
    const ids: readonly unknown[] = Array.isArray(given) ? given : given === undefined ? [] : [given]
    return ids.map((each) => `${names[name]}:${requireId(each, where + name)}`)
  })
}

/** An empty id would grant all objects of the type. */
function requireId(reference: unknown, what: string): string {
  const id = idOf(reference)
  if (typeof id === 'string' && id !== '') return id
  throw new TypeError(`Cannot grant ${what} ${show(reference)}: give an id, or an object that has one`)
}

/** A scope with an action and a type. What may do everything is a secret key. */
function requireScope(scope: unknown): string {
  if (typeof scope === 'string' && /^[a-z*]+:[a-zA-Z]+(?::.+)?$/.test(scope)) return scope
  throw new TypeError(
    `Cannot grant the scope ${show(scope)}: give one such as "read:runs" or "read:runs:run_1"`,
  )
}
