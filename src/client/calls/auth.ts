import { type OptionNames, requireOptions, requireSignal, show } from '../../primitives/require.ts'
import { CREATE_PUBLIC_TOKEN_ADDRESS } from '../../hosted/addresses.ts'
import type { Transport } from '../connection/transport.ts'
import type { ClientAuth, CreatePublicTokenOptions, PublicTokenScopes, ScopedObjects } from '../namespaces.ts'
import { wireDuration } from '../wire/durations.ts'
import { WireRecord } from '../wire/record.ts'

const NAMES: OptionNames<CreatePublicTokenOptions> = {
  scopes: true,
  expirationTime: true,
  realtime: true,
  signal: true,
}
const ACTIONS: OptionNames<PublicTokenScopes> = { read: true, write: true, trigger: true }
const OBJECTS: OptionNames<ScopedObjects> = {
  runs: true,
  tasks: true,
  tags: true,
  batch: true,
  waitpoints: true,
  streams: true,
}

/** Access tokens over HTTP. */
export class AuthCalls implements ClientAuth {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async createPublicToken(options: CreatePublicTokenOptions): Promise<string> {
    requireOptions(options, 'the options of auth.createPublicToken', NAMES)
    const { scopes, expirationTime, realtime, signal } = options
    requireSignal(signal, 'signal')
    const body = JSON.stringify({
      scopes: flatScopes(scopes),
      expirationTime: wireExpiration(expirationTime),
      realtime,
    })
    const answer = await this.#transport.call({ address: CREATE_PUBLIC_TOKEN_ADDRESS, body }, signal)
    return new WireRecord(answer.body, 'an access token').requiredText('token')
  }
}

/** `read: { runs: 'run_1' }` as `read:runs:run_1`, and `read: { runs: true }` as `read:runs`. */
function flatScopes(scopes: PublicTokenScopes): readonly string[] {
  requireOptions(scopes, 'scopes', ACTIONS)
  const flat = Object.entries(scopes).flatMap(([action, objects = {}]) => {
    requireOptions(objects, `scopes.${action}`, OBJECTS)
    return Object.entries(objects).flatMap(([type, ids]) => flatIds(`${action}:${type}`, ids))
  })
  if (flat.length > 0) return flat
  throw new TypeError('Cannot create an access token that may do nothing: name at least one scope')
}

function flatIds(scope: string, ids: unknown): readonly string[] {
  if (ids === true) return [scope]
  const list: readonly unknown[] = Array.isArray(ids) ? ids : ids === undefined ? [] : [ids]
  return list.map((id) => {
    // An empty id would stand for all of them.
    if (typeof id === 'string' && id !== '') return `${scope}:${id}`
    throw new TypeError(
      `Cannot use ${show(id)} in the scope ${scope}: give an id, a list of ids, or true for all`,
    )
  })
}

function wireExpiration(expiration: CreatePublicTokenOptions['expirationTime']): number | string | undefined {
  if (expiration instanceof Date) return Math.floor(expiration.getTime() / 1_000)
  return typeof expiration === 'number' ? expiration : wireDuration(expiration, 'expirationTime')
}
