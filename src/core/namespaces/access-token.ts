import type { AccessGrant, AccessTokenOptions, ReadGrant } from '../../api/access.ts'
import { parseDuration } from '../../primitives/duration.ts'
import { idOf, type OptionNames, requireOptions, show } from '../../primitives/require.ts'
import type { Kernel } from '../kernel.ts'

const DEFAULT_LIFE = '15m'
const OPTION_NAMES: OptionNames<AccessTokenOptions> = { expiresIn: true }
/** The scope of each part of a grant, to which the id is added. */
const SCOPES: Readonly<Record<Exclude<keyof AccessGrant, 'read'>, string>> = {
  complete: 'write:waitpoints',
  trigger: 'trigger:tasks',
  cancel: 'cancel:runs',
}
const READ_SCOPES: Readonly<Record<keyof ReadGrant, string>> = {
  runs: 'read:runs',
  tags: 'read:tags',
  tokens: 'read:waitpoints',
}

/** An access token with what is granted. Everything is checked: a grant that is misspelt would grant less, or more. */
export function createAccessToken(
  kernel: Kernel,
  grant: AccessGrant,
  options: AccessTokenOptions = {},
): Promise<string> {
  return kernel.call(() => {
    requireOptions(options, 'the options of createAccessToken', OPTION_NAMES)
    const scopes = scopesOf(grant)
    const lifeMs = parseDuration(options.expiresIn ?? DEFAULT_LIFE, 'expiresIn')
    if (lifeMs === 0) throw new RangeError('Cannot use expiresIn 0: it must be a positive duration')
    const issuedAt = kernel.host.now()
    return kernel.credentials.sign({ scopes, issuedAt, expiresAt: issuedAt + lifeMs })
  })
}

function scopesOf(grant: AccessGrant): readonly string[] {
  requireOptions(grant, 'a grant', { read: true, ...SCOPES })
  const { read = {}, ...others } = grant
  requireOptions(read, 'the read of a grant', READ_SCOPES)
  // `requireOptions` has checked the names.
  const scopes = [...scopesIn(READ_SCOPES, read, 'read.'), ...scopesIn(SCOPES, others, '')]
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
