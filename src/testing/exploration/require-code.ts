import { show } from '../../primitives/require.ts'

/** @throws TypeError unless it is a function. */
export function requireCode(value: unknown, what: string): void {
  if (typeof value !== 'function') throw new TypeError(`Cannot use ${what} ${show(value)}: use a function`)
}
