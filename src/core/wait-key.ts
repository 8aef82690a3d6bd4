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

/**
 * 31 bits of FNV-1a over what JSON would keep of a value: the place already tells waits apart, the hash only notices
 * changed options. Hot, hence no JSON text, and a small integer: most options are one number or string.
 */
function hashOf(options: unknown): number {
  return hashValue(options, 0x811c9dc5) >>> 1
}

function hashValue(value: unknown, hash: number): number {
  if (typeof value === 'string') return hashText(value, hash)
  if (typeof value !== 'object' || value === null) return hashText(String(value), hash ^ 1)
  if (value instanceof Date) return hashText(String(value.getTime()), hash ^ 2)
  let mixed = hash
  for (const name of Object.keys(value)) {
    // As an object of options: whatever its values are.
    const part: unknown = (value as Record<string, unknown>)[name]
    if (part !== undefined) mixed = hashValue(part, hashText(name, mixed ^ 3))
  }
  return Array.isArray(value) ? mixed ^ 4 : mixed ^ 5
}

function hashText(text: string, hash: number): number {
  let mixed = hash
  for (let index = 0; index < text.length; index += 1) {
    mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x01000193)
  }
  return mixed
}
