import type { OptionNames } from '../../primitives/require.ts'
import { requireOptions, show } from '../../primitives/require.ts'
import { currentAttempt } from '../attempt/attempt.ts'
import { nodeCrypto } from '../host/node-crypto.ts'

/** The part of the program that a derived key belongs to; see docs/runs.md. */
export interface IdempotencyKeyOptions {
  /**
   * `run`: this run, over all its attempts; `attempt`: this attempt of its policy; `global`: everywhere.
   *
   * @default `'run'` in a run, else `'global'`
   */
  readonly scope?: 'run' | 'attempt' | 'global'
}

const NAMES: OptionNames<IdempotencyKeyOptions> = { scope: true }

/** Derives idempotency keys that are narrower than one storage. */
export const idempotencyKeys: {
  create(key: string | readonly string[], options?: IdempotencyKeyOptions): Promise<string>
} = {
  /**
   * Answers one text for one key in one scope. Outside of a run every scope is `global`.
   *
   * Rejects with a TypeError or RangeError for a key or a scope that cannot be used.
   *
   * @example
   * ```ts
   * const idempotencyKey = await idempotencyKeys.create(['mail', userId], { scope: 'attempt' })
   * ```
   */
  create: async (key, options = {}) => {
    requireOptions(options, 'the options of idempotencyKeys.create', NAMES)
    const { scope = 'run' } = options
    const parts = typeof key === 'string' ? [key] : key
    if (!isKey(parts))
      throw new TypeError('Cannot create an idempotency key: give a non-empty string, or several strings')
    return nodeCrypto()
      .createHash('sha256')
      .update(JSON.stringify([parts, scopeParts(scope)]))
      .digest('hex')
  },
}

function isKey(parts: unknown): parts is readonly string[] {
  return Array.isArray(parts) && parts.every((part) => typeof part === 'string') && parts.join('') !== ''
}

function scopeParts(scope: 'run' | 'attempt' | 'global'): readonly string[] {
  const run = currentAttempt()
  switch (scope) {
    case 'global':
      return []
    case 'run':
      return run === undefined ? [] : [run.id]
    case 'attempt':
      return run === undefined ? [] : [run.id, String(run.record.policyAttempt)]
    default:
      throw new RangeError(
        `Cannot create an idempotency key of scope ${show(scope)}: use run, attempt or global`,
      )
  }
}
