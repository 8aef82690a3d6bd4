/** A storage gave an answer that its contract does not allow. */
export class Mismatch extends Error {
  readonly what: string
  readonly expected: unknown
  readonly seen: unknown

  constructor(what: string, { expected, seen }: { readonly expected: unknown; readonly seen: unknown }) {
    super(`${what}: expected ${describeValue(expected)}, saw ${describeValue(seen)}`)
    this.name = 'Mismatch'
    this.what = what
    this.expected = expected
    this.seen = seen
  }
}

/**
 * Fails unless `seen` equals `expected`. A field that is `undefined` equals a missing one.
 *
 * @throws Mismatch
 */
export function same(what: string, seen: unknown, expected: unknown): void {
  if (!isSame(seen, expected, true)) throw new Mismatch(what, { expected, seen })
}

/** Fails unless `seen` contains everything in `expected`. Other fields of its objects are ignored. */
export function like(what: string, seen: unknown, expected: unknown): void {
  if (!isSame(seen, expected, false)) throw new Mismatch(what, { expected, seen })
}

/** Fails unless `call` throws or rejects. */
export async function refused(what: string, call: () => unknown): Promise<void> {
  let answer: unknown
  try {
    answer = await call()
  } catch {
    return
  }
  throw new Mismatch(what, { expected: 'an error', seen: answer })
}

/** Longer texts are told by their ends and their length. */
const MOST_SHOWN = 10_000

/** A value as text for messages: JSON, with the entries of maps. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'undefined'
  if (value instanceof Error) return `${value.name}: ${value.message}`
  return JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part === 'string' && part.length > MOST_SHOWN) return shortened(part)
    return part instanceof Map ? Object.fromEntries<unknown>(part) : part
  })
}

function shortened(text: string): string {
  return `${text.slice(0, 20)} … ${text.slice(-20)} (${text.length} characters)`
}

/** Whether two values are equal, or, unless `exact`, the second is contained in the first. */
export function isSame(seen: unknown, expected: unknown, exact: boolean): boolean {
  if (Object.is(seen, expected)) return true
  if (Array.isArray(seen) && Array.isArray(expected)) {
    return seen.length === expected.length && expected.every((one, at) => isSame(seen[at], one, exact))
  }
  if (!isObject(seen) || !isObject(expected) || Array.isArray(seen) !== Array.isArray(expected)) return false
  const names = exact ? [...Object.keys(seen), ...Object.keys(expected)] : Object.keys(expected)
  return names.every((name) => isSame(seen[name], expected[name], exact))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
