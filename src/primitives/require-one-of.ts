import { show } from './require.ts'

/** @throws RangeError unless it is one of the choices. */
export function requireOneOf(value: unknown, what: string, choices: readonly string[]): void {
  if (typeof value === 'string' && choices.includes(value)) return
  const quoted = choices.map((choice) => `"${choice}"`)
  throw new RangeError(`Cannot use ${what} ${show(value)}: use ${quoted.join(' or ')}`)
}
