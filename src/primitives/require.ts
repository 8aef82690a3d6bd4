/** Every option there is, so that none is forgotten when one is added. */
export type OptionNames<Options> = Readonly<Record<keyof Options, unknown>>

/** @throws TypeError unless it is an object that can be read options from. */
export function requireObject(value: unknown, what: string): asserts value is object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw refused(value, what, 'an object')
}

/**
 * A misspelt option would be ignored, and its default be used.
 *
 * @throws TypeError unless it is an object that has no other options than these.
 */
export function requireOptions(
  value: unknown,
  what: string,
  names: Readonly<Record<string, unknown>>,
): asserts value is object {
  requireObject(value, what)
  // Hot, hence no list of the names.
  for (const name in value) {
    if (Object.hasOwn(names, name) || !Object.hasOwn(value, name)) continue
    throw new TypeError(
      `Cannot use ${what}: there is no option "${name}"; use ${Object.keys(names).join(', ')}`,
    )
  }
}

/** @throws TypeError unless it is a function, or left out. */
export function requireFunction(value: unknown, what: string): void {
  if (value !== undefined && typeof value !== 'function') throw refused(value, what, 'a function')
}

/** @throws TypeError unless it has these methods: a clock, a storage. */
export function requireMethods(value: unknown, what: string, names: readonly string[]): void {
  const has = (name: string): boolean =>
    typeof (value as Readonly<Record<string, unknown>>)[name] === 'function'
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function'
  if (!isObject || !names.every(has)) throw refused(value, what, `an object with ${names.join(' and ')}`)
}

/** @throws TypeError unless it is an array. */
export function requireList(value: unknown, what: string): void {
  if (!Array.isArray(value)) throw refused(value, what, 'a list')
}

/** @throws TypeError unless it is a boolean, or left out. */
export function requireFlag(value: unknown, what: string): void {
  if (value !== undefined && typeof value !== 'boolean') throw refused(value, what, 'true or false')
}

/** @throws TypeError unless it is an `AbortSignal`, or left out. */
export function requireSignal(value: unknown, what: string): void {
  if (value !== undefined && !(value instanceof AbortSignal)) throw refused(value, what, 'an AbortSignal')
}

/** @throws TypeError unless it is a string with something in it. */
export function requireName(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw refused(value, what, 'a non-empty string')
}

/** @throws RangeError unless it is a whole number in the range. */
export function requireWhole(
  value: unknown,
  what: string,
  { from, to = Number.MAX_SAFE_INTEGER }: { readonly from: number; readonly to?: number },
): void {
  if (Number.isInteger(value) && Number(value) >= from && Number(value) <= to) return
  const range = to === Number.MAX_SAFE_INTEGER ? `${from}` : `${from} to ${to}`
  throw new RangeError(`Cannot use ${what} ${show(value)}: it must be a whole number from ${range}`)
}

function refused(value: unknown, what: string, expected: string): TypeError {
  return new TypeError(`Cannot use ${what} ${show(value)}: it must be ${expected}`)
}

/** How many items or properties of a value are shown. */
const MOST_SHOWN = 6

/** Any value, in a message: on one line, strings in double quotes, the content of objects only by its kind. */
export function show(value: unknown): string {
  try {
    // Typical of a forgotten `await`; `{  }` would not say so.
    if (value instanceof Promise) return 'a promise that was not awaited'
    if (typeof value !== 'object' || value === null || value instanceof Date) return showInner(value)
    const parts = Array.isArray(value)
      ? value.map(showInner)
      : Object.entries(value).map(([name, inner]) => `${name}: ${showInner(inner)}`)
    const shown = [...parts.slice(0, MOST_SHOWN), ...(parts.length > MOST_SHOWN ? ['…'] : [])].join(', ')
    return Array.isArray(value) ? `[ ${shown} ]` : `{ ${shown} }`
  } catch {
    // A getter or a proxy of theirs threw.
    return '[Object]'
  }
}

function showInner(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'function') return '[Function]'
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : String(value.getTime())
  if (typeof value !== 'object' || value === null) return String(value)
  return Array.isArray(value) ? '[Array]' : '[Object]'
}

/** The `id` of anything that carries one, or the value itself. The caller checks that it is an id. */
export function idOf(reference: unknown): unknown {
  return typeof reference === 'object' && reference !== null && 'id' in reference ? reference.id : reference
}
