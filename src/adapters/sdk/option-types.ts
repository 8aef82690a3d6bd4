import { show } from '../../primitives/require.ts'

/** How the type of an option is called in an error. */
const TYPES = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
} as const

/**
 * Checks options that have no effect here: one of another type would fail in the hosted service.
 *
 * @throws TypeError for an option of another type.
 */
export function requireTypes<Options extends object>(
  options: Options,
  what: string,
  types: { readonly [Name in keyof Options]?: keyof typeof TYPES },
): void {
  for (const name of Object.keys(types) as (keyof Options & string)[]) {
    const { [name]: value } = options
    const type = types[name]
    if (value === undefined || type === undefined || (typeof value === type && value !== null)) continue
    throw new TypeError(`Cannot use ${name} ${show(value)} of ${what}: it must be ${TYPES[type]}`)
  }
}
