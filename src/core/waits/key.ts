import type { KeyRecord } from '../../contract/records.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { nextPlace } from '../attempt/places.ts'

/**
 * The implicit key of a wait in a run: run, policy attempt, kind, place in call order, hash of the options. The same
 * after an interruption, another one with the next policy attempt; with changed options another one too.
 */
export function implicitKey(scope: Attempt, kind: string, options: unknown): KeyRecord {
  const { policyAttempt } = scope.record
  const ordinal = nextPlace(scope, kind)
  // What users name keys by has scopes with other names: see `isUserKey`.
  return { scope: scope.id, value: shared(`${policyAttempt}/${kind}/${ordinal}/${hashOf(options)}`) }
}

let latest = ''

/** Runs of one task make the same waits: as a rule the text was made before, and one is kept for all of them. */
function shared(text: string): string {
  if (text !== latest) latest = text
  return latest
}

/** What stands between texts: no text has such a code in it, so that `['a', 'b']` is no other list. */
const [TEXT, PLAIN, DATE, NAME, LIST_END, OBJECT_END] = [0x10001, 0x10002, 0x10003, 0x10004, 0x10005, 0x10006]

/**
 * 31 bits of FNV-1a over what JSON would keep of a value: the place already tells waits apart, the hash only notices
 * changed options. Hot, hence no JSON text, and a small integer: most options are one number or string.
 */
function hashOf(options: unknown): number {
  return hashValue(options, 0x811c9dc5) >>> 1
}

function hashValue(value: unknown, hash: number): number {
  if (typeof value === 'string') return hashText(value, mix(hash, TEXT))
  if (typeof value !== 'object' || value === null) return hashText(String(value), mix(hash, PLAIN))
  if (value instanceof Date) return hashText(String(value.getTime()), mix(hash, DATE))
  let mixed = hash
  for (const name of Object.keys(value)) {
    // As an object of options: whatever its values are.
    const part: unknown = (value as Record<string, unknown>)[name]
    if (part !== undefined) mixed = hashValue(part, hashText(name, mix(mixed, NAME)))
  }
  return mix(mixed, Array.isArray(value) ? LIST_END : OBJECT_END)
}

function hashText(text: string, hash: number): number {
  let mixed = hash
  for (let index = 0; index < text.length; index += 1) {
    mixed = mix(mixed, text.charCodeAt(index))
  }
  return mixed
}

function mix(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193)
}
