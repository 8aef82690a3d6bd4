import { requireList, requireName } from '../../primitives/require.ts'

/**
 * One or several, as several; none and an empty list alike mean no filter.
 *
 * @throws TypeError for what is neither a string nor a list of strings.
 */
export function listOf<T extends string>(
  one: T | readonly T[] | undefined,
  what: string,
): readonly T[] | undefined {
  const list = one === undefined ? [] : typeof one === 'string' ? [one] : one
  requireList(list, what)
  for (const item of list) requireName(item, what)
  return list.length === 0 ? undefined : list
}
