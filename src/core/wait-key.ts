import type { KeyRecord } from '../contract/records.ts'
import type { RunScope } from './run-scope.ts'

/**
 * The implicit key of a wait in a run: run, policy attempt, kind, place in call order, hash of the options. The same
 * after an interruption, another one with the next policy attempt; with changed options another one too.
 */
export function implicitKey(scope: RunScope, kind: string, options: unknown): KeyRecord {
  const { policyAttempt } = scope.record
  const ordinal = scope.places.next(kind)
  // What users name keys by has scopes with other names: see `isUserKey`.
  return { scope: scope.id, value: `${policyAttempt}/${kind}/${ordinal}/${hashOf(options)}` }
}

/** 32 bits of FNV-1a over the JSON text: the place already tells waits apart, the hash only notices changed options. */
function hashOf(options: unknown): string {
  const text = options === undefined ? '' : JSON.stringify(options)
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return (hash >>> 0).toString(36)
}
