import { Refusal } from '../refusal.ts'

/**
 * What a part of a body costs, beside its bytes, in steps of some 40 ns. Parts are counted before they are made into values,
 * because three megabytes of the smallest of them would keep the process from everything else for seconds.
 */
const PRICES = {
  value: 1,
  shortString: 5,
  container: 10,
  /** A check of cycles looks at all containers around one. */
  deepContainer: 100,
  newKey: 50,
  field: 100,
  part: 1_000,
} as const
const MOST_STEPS = 1_000_000
/** A JSON text up to this length cannot have too much of anything. */
const UNCOUNTED_LENGTH = 65_536
/** Longer strings are not compared with others when they are parsed. */
const SHORT = 10
const DEEP = 100
/** What is deeper is not looked at: it cannot be stored. */
const DEEPEST = 1_000
const [QUOTE, BACKSLASH, COLON, COMMA, SPACE] = [34, 92, 58, 44, 32]
/** Brackets and braces are the same but for one bit. */
const [BRACE_BIT, OPENING, CLOSING] = [32, 123, 125]

/**
 * Counts the parts of a JSON text before it is parsed.
 *
 * @throws Refusal 413 for a text with too many of them.
 */
export function boundJson(text: string): void {
  if (text.length <= UNCOUNTED_LENGTH) return
  const keys = new Set<string>()
  let [steps, depth] = [0, 0]
  for (let place = 0; place < text.length && steps <= MOST_STEPS; place++) {
    const code = text.charCodeAt(place)
    if (code === QUOTE) {
      const end = endOfString(text, place + 1)
      const next = afterSpace(text, end + 1)
      if (text.charCodeAt(next) !== COLON) steps += end - place - 1 <= SHORT ? PRICES.shortString : 0
      else if (keys.size < keys.add(text.slice(place + 1, end)).size) steps += PRICES.newKey
      place = next - 1
    } else if ((code | BRACE_BIT) === OPENING) {
      depth += 1
      steps += depth > DEEP && depth <= DEEPEST ? PRICES.deepContainer : PRICES.container
    } else if ((code | BRACE_BIT) === CLOSING) depth -= 1
    else if (code === COMMA) steps += PRICES.value
  }
  if (steps > MOST_STEPS) throw tooMany('container', 'newKey', 'shortString', 'value')
}

/**
 * Counts the fields of an encoded form, or the parts of one in parts, before they are read.
 *
 * @throws Refusal 413 for a form with too many of them.
 */
export function boundForm(letters: string, kind: 'field' | 'part', separator: string): void {
  let left = mostOf(kind)
  for (
    let place = letters.indexOf(separator);
    place >= 0;
    place = letters.indexOf(separator, place + separator.length)
  )
    if (--left < 0) throw tooMany(kind)
}

function endOfString(text: string, from: number): number {
  let place = from
  for (; place < text.length; place++) {
    const code = text.charCodeAt(place)
    if (code === QUOTE) break
    if (code === BACKSLASH) place += 1
  }
  return place
}

function afterSpace(text: string, from: number): number {
  let place = from
  while (text.charCodeAt(place) <= SPACE) place += 1
  return place
}

type Part = keyof typeof PRICES

const NAMES: Readonly<Record<Part, string>> = {
  value: 'values',
  shortString: 'strings of up to ten characters',
  container: 'arrays and objects',
  deepContainer: 'arrays and objects inside of a hundred others',
  newKey: 'different keys',
  field: 'fields',
  part: 'parts',
}

function mostOf(part: Part): number {
  return MOST_STEPS / PRICES[part]
}

function tooMany(...parts: readonly Part[]): Refusal {
  const counts = parts.map((part) => `${mostOf(part).toLocaleString('en')} ${NAMES[part]}`)
  const most = parts.length > 1 ? `${counts.join(', or ')}, or a share of each` : counts[0]
  return new Refusal(413, `Request body too large: it may have ${most}`)
}
