import { WaitpointError } from '../../api/errors.ts'
import { runs } from '../../core/ambient/ambient.ts'
import { sha256 } from '../../primitives/digest.ts'
import { type OptionNames, requireOptions, show } from '../../primitives/require.ts'
import { currentRun } from './current-run.ts'
import { type RequestOptions, takingRequests } from './request-options.ts'

declare const KEY: unique symbol

/** A key that `idempotencyKeys.create` has made. */
export type IdempotencyKey = string & { readonly [KEY]: 'IdempotencyKey' }

/** What a key belongs to. */
export type KeyScope = 'run' | 'attempt' | 'global'

const SCOPES: readonly KeyScope[] = ['run', 'attempt', 'global']

type KeyParts = string | readonly string[]

/** A key made of several, or an error for what is no key. Numbers, which the types refuse, count as texts, as in the hosted service. */
function partsOf(key: KeyParts): readonly string[] {
  const parts = [key].flat()
  const isUsable = parts.length > 0 && parts.every((part) => /^(string|number)$/.test(typeof part))
  if (!isUsable) throw new TypeError('Cannot use an idempotency key: give a string, or several strings')
  return parts
}

/** The key of a text in a scope, as the hosted service derives it, so that its client finds the key from outside. */
function deriveKey(key: KeyParts, place: readonly string[]): IdempotencyKey {
  // Two strings, one brand: only made here.
  return sha256([...partsOf(key), ...place].join('-'), 'hex') as IdempotencyKey
}

/** The part of the program that a key made here belongs to. Outside of a run every key belongs to all. */
function placeOf(scope: KeyScope): readonly string[] {
  const { run, attempt } = currentRun()?.ctx ?? {}
  if (run === undefined || scope === 'global') return []
  return scope === 'run' ? [run.id] : [run.id, String(attempt?.number)]
}

/** The length by which the hosted service knows a key that was made. */
const MADE_LENGTH = 64

function isMade(key: KeyParts): key is IdempotencyKey {
  return typeof key === 'string' && key.length === MADE_LENGTH
}

/** The key of a trigger: one that was made before as it is, any other belongs to the run that triggers. */
export function triggerKey(key: KeyParts): string {
  return isMade(key) ? key : deriveKey(key, placeOf('run'))
}

/** Where a key that is reset belongs to. */
export interface ResetKeyOptions {
  /** `run` if it is left out. */
  scope?: KeyScope
  /** The run that has triggered with the key: the current one if it is left out. */
  parentRunId?: string
  /** Its attempt, for the scope `attempt`: the current one if it is left out. */
  attemptNumber?: number
}

const RESET_NAMES: OptionNames<ResetKeyOptions> = { scope: true, parentRunId: true, attemptNumber: true }

/**
 * Derives idempotency keys that belong to a run, to an attempt, or to all. `reset` of a key that has expired rejects with
 * `ERR_RUN_NOT_FOUND`, as of one that no run has: it is free.
 */
export interface IdempotencyKeys {
  create(key: string | string[], options?: { scope?: KeyScope }): Promise<IdempotencyKey>
  /**
   * Frees a key of a task: the next trigger with it starts a new run. Answers the key as it is stored. Rejects with `ERR_RUN_NOT_FOUND` if no
   * run has it; with a TypeError outside of a run for a key of a run that is not named.
   */
  reset(
    taskIdentifier: string,
    key: IdempotencyKey | string | string[],
    options?: ResetKeyOptions,
    requestOptions?: RequestOptions,
  ): Promise<{ id: string }>
}

/** `idempotencyKeys`. */
export const hostedIdempotencyKeys: IdempotencyKeys = /* @__PURE__ */ takingRequests<IdempotencyKeys>(
  {
    create: async (key, options = {}) => {
      requireOptions(options, 'the options of idempotencyKeys.create', { scope: true })
      return deriveKey(key, placeOf(readScope(options)))
    },
    reset: async (taskIdentifier, key, options = {}) => {
      requireOptions(options, 'the options of idempotencyKeys.reset', RESET_NAMES)
      for (const id of keysToReset(key, options)) {
        if ((await runs.resetIdempotencyKey(taskIdentifier, id)) !== undefined) return { id }
      }
      throw new WaitpointError(
        'ERR_RUN_NOT_FOUND',
        `Cannot reset idempotency key ${show(key)}: no run of task "${taskIdentifier}" has it in this scope`,
      )
    },
  },
  { reset: 3 },
)

function readScope({ scope = 'run' }: { readonly scope?: KeyScope }): KeyScope {
  if (SCOPES.includes(scope)) return scope
  throw new RangeError(`Cannot use the scope ${show(scope)}: it must be one of ${SCOPES.join(', ')}`)
}

/** What may be meant, in order: a text as long as a key that was made is one, unless no run has it and a scope is given. */
function keysToReset(key: KeyParts, options: ResetKeyOptions): readonly string[] {
  const place = placeOfReset(options)
  if (isMade(key))
    return options.scope === undefined || place === undefined ? [key] : [key, deriveKey(key, place)]
  if (place !== undefined) return [deriveKey(key, place)]
  const needed = options.scope === 'attempt' ? 'parentRunId and attemptNumber' : 'parentRunId'
  throw new TypeError(
    `Cannot reset idempotency key ${show(key)} outside of its run: give ${needed}, or the scope "global"`,
  )
}

/** The part of the program that a key belongs to; `undefined` if the options do not say which run or attempt, and none calls. */
function placeOfReset(options: ResetKeyOptions): readonly string[] | undefined {
  const scope = readScope(options)
  const { run, attempt } = currentRun()?.ctx ?? {}
  const { parentRunId = run?.id, attemptNumber = attempt?.number } = options
  if (scope === 'global') return []
  if (parentRunId === undefined) return undefined
  if (scope === 'run') return [parentRunId]
  return attemptNumber === undefined ? undefined : [parentRunId, String(attemptNumber)]
}
