/** Something a storage answered is not what its contract says. */
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
 * Fails unless `seen` is `expected`, all of it; a field that is `undefined` and one that is not there are the same.
 *
 * @throws Mismatch
 */
export function same(what: string, seen: unknown, expected: unknown): void {
  if (!isSame(seen, expected, true)) throw new Mismatch(what, { expected, seen })
}

/** Fails unless `seen` has what `expected` names; other fields of its objects may be as they like. */
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

/** For people: JSON, with a map as what is in it. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'undefined'
  if (value instanceof Error) return `${value.name}: ${value.message}`
  return JSON.stringify(value, (_name, part: unknown) =>
    part instanceof Map ? Object.fromEntries<unknown>(part) : part,
  )
}

/** Whether two values are the same, or, not `exact`, the second is within the first. */
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
