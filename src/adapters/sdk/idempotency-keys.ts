import { sha256 } from '../../primitives/digest.ts'
import { requireOptions, show } from '../../primitives/require.ts'
import { currentRun } from './current-run.ts'
import { refusing } from './hosted-only.ts'

declare const KEY: unique symbol

/** A key that `idempotencyKeys.create` has made. */
export type IdempotencyKey = string & { readonly [KEY]: 'IdempotencyKey' }

/** What a key belongs to. */
export type KeyScope = 'run' | 'attempt' | 'global'

const SCOPES: readonly KeyScope[] = ['run', 'attempt', 'global']

type KeyParts = string | readonly string[]

/** A key made of several, or an error for what is no key. */
function partsOf(key: KeyParts): readonly string[] {
  const parts: unknown = typeof key === 'string' ? [key] : key
  const isUsable = Array.isArray(parts) && parts.length > 0 && parts.every((part) => typeof part === 'string')
  if (!isUsable) throw new TypeError('Cannot use an idempotency key: give a string, or several strings')
  return parts
}

function deriveKey(key: KeyParts, scope: KeyScope): IdempotencyKey {
  const { run, attempt } = currentRun()?.ctx ?? {}
  const place =
    run === undefined || scope === 'global'
      ? []
      : [run.id, ...(scope === 'attempt' ? [String(attempt?.number)] : [])]
  // Two strings, one brand: only made here.
  return sha256(JSON.stringify([partsOf(key), place]), 'hex') as IdempotencyKey
}

/** The length by which the hosted service knows a key that was made. */
const MADE_LENGTH = 64

/** The key of a trigger: one that was made before as it is, any other belongs to the run that triggers. */
export function triggerKey(key: KeyParts): string {
  return typeof key === 'string' && key.length === MADE_LENGTH ? key : deriveKey(key, 'run')
}

/** Derives idempotency keys that belong to a run, to an attempt, or to all. */
export const hostedIdempotencyKeys: {
  create(key: string | string[], options?: { scope?: KeyScope }): Promise<IdempotencyKey>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  reset(
    taskIdentifier: string,
    key: string,
    options?: object,
    requestOptions?: object,
  ): Promise<{ id: string }>
} = {
  create: async (key, options = {}) => {
    requireOptions(options, 'the options of idempotencyKeys.create', { scope: true })
    const { scope = 'run' } = options
    if (!SCOPES.includes(scope))
      throw new RangeError(`Cannot use the scope ${show(scope)}: it must be one of ${SCOPES.join(', ')}`)
    return deriveKey(key, scope)
  },
  reset: refusing('idempotencyKeys.reset', 'a key is free again when its idempotencyKeyTTL is over'),
}
