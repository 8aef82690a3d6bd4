/** @throws TypeError unless it is an object that can be read options from. */
export function requireObject(value: unknown, what: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw new TypeError(`Cannot use ${what}: it must be an object`)
}

/** @throws TypeError unless it is a function, or left out. */
export function requireFunction(value: unknown, what: string): void {
  if (value === undefined || typeof value === 'function') return
  throw new TypeError(`Cannot use ${what}: it must be a function`)
}

/** @throws TypeError unless it is an array. */
export function requireList(value: unknown, what: string): void {
  if (!Array.isArray(value)) throw new TypeError(`Cannot use ${what}: they must be a list`)
}

/** @throws TypeError unless it is a string with something in it. */
export function requireName(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new TypeError(`Cannot use ${what} ${String(value)}: it must be a non-empty string`)
}
