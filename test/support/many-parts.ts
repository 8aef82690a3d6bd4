import { boundJson } from '../../src/http/requests/bounded-parts.ts'

/** So many characters are about the most that a request may have. */
export const MOST_CHARACTERS = 3_000_000
/** Of the smallest parts as many as a request may have are in one of these. */
const SIZES = [MOST_CHARACTERS, 1_900_000, 1_200_000, 800_000, 500_000, 300_000, 180_000]

/** A part whose keys are not in the order of the alphabet. */
export const outOfOrder = (at: number): string => `{"b":${at},"a":1}`

/** Many of one thing, as JSON. Each takes few bytes, so that many go into a request. */
const ITEMS: Readonly<Record<string, (at: number) => string>> = {
  numbers: () => '1',
  'short strings': () => '"w"',
  'different strings': (at) => `"${at.toString(36)}"`,
  'long strings': (at) => `"a string of some length ${at}"`,
  escapes: () => '"\\\\u0000\\\\n"',
  objects: () => '{}',
  arrays: () => '[[]]',
  'deep arrays': () => '['.repeat(500) + ']'.repeat(500),
  'deep objects': () => '{"a":'.repeat(500) + '1' + '}'.repeat(500),
  'rows with equal keys': (at) => `{"id":${at},"name":"n"}`,
  'rows with different keys': (at) => `{"${at.toString(36)}":1}`,
  operations: (at) => `{"type":"set","key":"k${at}","value":1}`,
  removals: (at) => `{"type":"remove","key":"a","value":{"b":${at}}}`,
  'rows out of order': outOfOrder,
}

/** The names of JSON values that are made of many parts. */
export const VALUES: readonly string[] = ['members', ...Object.keys(ITEMS)]

/** The text of one of {@link VALUES}, of about so many characters. */
export function valueOf(name: string, size: number): string {
  const item = ITEMS[name]
  return item === undefined ? `{${list(size, (at) => `"${at.toString(36)}x":1`)}}` : `[${list(size, item)}]`
}

/** Items of so many characters together. */
export function list(size: number, item: (at: number) => string, between = ','): string {
  const items: string[] = []
  for (let left = size; left > 0; left -= (items.at(-1)?.length ?? 0) + between.length)
    items.push(item(items.length))
  return items.join(between)
}

const found = new Map<string, number>()

/** The largest size of a value that does not have more parts than a request may have. */
export function mostOf(name: string): number {
  const most = found.get(name) ?? SIZES.find((size) => isTaken(valueOf(name, size))) ?? 0
  found.set(name, most)
  return most
}

function isTaken(json: string): boolean {
  try {
    boundJson(json)
    return true
  } catch {
    return false
  }
}
