import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { Pattern } from '../../src/questions/pattern.ts'

function fits(pattern: string, text: string): boolean {
  return new Pattern(pattern).test(text, () => undefined)
}

/** Begins at each character, as the standard says: by itself V8 begins in the middle of a pair of surrogates too. */
function fitsNatively(pattern: string, text: string): boolean {
  const expression = new RegExp(pattern, 'uy')
  let place = 0
  return ['', ...Array.from(text)].some((character) => {
    expression.lastIndex = place += character.length
    return expression.test(text)
  })
}

/** How many steps the check of a text takes that is long by a part that is repeated, and how many at most for the size of its pattern. */
function stepsOf(
  pattern: string,
  [before, repeated, after]: readonly [string, string, string],
  length: number,
): {
  readonly steps: number
  readonly most: number
} {
  const read = new Pattern(pattern)
  const text = `${before}${repeated.repeat(Math.min(length, (50 * length) / read.size) / repeated.length)}${after}`
  let steps = 0
  read.test(text, (more) => (steps += more))
  return { steps, most: 2 * read.size * (text.length + 1) }
}

/** They take a backtracking matcher seconds, or for ever. */
const RUNNING: readonly (readonly [pattern: string, repeated: string, after: string])[] = [
  ['^(?:ba{2}b*|a)+$', 'aab', 'c'],
  ['(?:(?:bab{0,12}){0,12}a)*a$', 'ab', 'c'],
  ['^(a+)+$', 'a', 'b'],
  ['^(\\w+\\s?)*$', 'a', '!'],
  ['(a|a)*b', 'a', ''],
  ['^(a|aa)+$', 'a', 'b'],
  ['(x+x+)+y', 'x', ''],
  ['a*a*a*b', 'a', ''],
  ['([^]*)*x$', 'a', ''],
  ['(a{1,20}){1,20}b', 'a', ''],
  ['^(?:\\d{1,3},?)+$', '1', 'x'],
  ['^(?:a?a)*b$', 'a', ''],
  ['(.*){1,200}[bc]', 'a', ''],
  ['(?:a|b|ab|ba){50}c', 'ab', ''],
  ['((a|a){9}){9}b', 'a', ''],
  [`${'a?'.repeat(29)}${'a'.repeat(29)}$`, 'a', 'b'],
  ['[a-z]*'.repeat(120), 'a', '!'],
  ['^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+$', 'a', '!'],
  ['^(?=(a+)+$)(?!(a|a)+$)(?<=^(a*)*)', 'a', 'b'],
  ['\\s+$', ' ', 'x'],
]

const FORMATS = {
  base64: [z.base64(), 'YWJj', 'YWJ'],
  cidrv6: [z.cidrv6(), '2001:db8::/32', '2001:db8::/320'],
  email: [z.email(), 'ann@example.com', 'ann@example'],
  email5: [z.email({ pattern: z.regexes.html5Email }), 'ann@example.com', 'ann@'],
  emailOfUnicode: [z.email({ pattern: z.regexes.unicodeEmail }), 'änn@example.com', 'än n@example.com'],
  emoji: [z.emoji(), '👩‍🚀', 'a'],
  hostname: [z.hostname(), 'a.example.com', `${'a.'.repeat(127)}com`],
  ipv6: [z.ipv6(), '::1', '::g'],
  date: [z.iso.date(), '2028-02-29', '2027-02-29'],
  datetime: [z.iso.datetime({ offset: true }), '2026-11-28T19:00:00+01:00', '2026-11-28 19:00'],
  duration: [z.iso.duration(), 'P1DT2H', 'P1DT'],
  literals: [z.templateLiteral([z.number(), 'px']), '1.5px', 'px'],
  uuid: [z.uuid(), '123e4567-e89b-42d3-a456-426614174000', '123e4567'],
} as const

describe('a pattern of a schema', () => {
  it.each(RUNNING)('takes steps that grow with the text alone: %s', (pattern, repeated, after) => {
    const { steps, most } = stepsOf(pattern, ['', repeated, after], 100_000)
    expect(steps).toBeLessThanOrEqual(most)
  })

  it('takes so many steps at most, whatever it is', () => {
    fc.assert(
      fc.property(patterns, texts, repeatedTexts, texts, (pattern, before, repeated, after) => {
        const { steps, most } = stepsOf(pattern, [before, repeated, after], 1_000)
        expect(steps).toBeLessThanOrEqual(most)
      }),
      { numRuns: 500 },
    )
  })

  it('fits the texts that the expression of ECMAScript fits', () => {
    fc.assert(
      fc.property(patterns, fc.array(texts, { minLength: 1, maxLength: 8 }), (pattern, each) => {
        for (const text of each)
          expect([text, fits(pattern, text)]).toEqual([text, fitsNatively(pattern, text)])
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    '\\s',
    '\\S',
    '\\d',
    '\\w',
    '\\W',
    '.',
    '[^]',
    '\\p{L}',
    '\\P{Lu}',
    '\\p{Script=Greek}',
    '[^\\s\\u{1F300}-\\u{1FAFF}]',
    '\\p{Emoji}',
  ])('has the characters of ECMAScript: %s', (pattern) => {
    const expression = new RegExp(pattern, 'u')
    const read = new Pattern(pattern)
    const others: number[] = []
    for (let character = 0; character <= 0x10_ff_ff; character += character < 0x3100 ? 1 : 97) {
      const text = String.fromCodePoint(character)
      if (read.test(text, () => undefined) !== expression.test(text)) others.push(character)
    }
    expect(others).toEqual([])
  })

  it.each(Object.entries(FORMATS))('is taken from zod: %s', (_, [schema, good, bad]) => {
    const { pattern, allOf } = z.toJSONSchema(schema)
    const all = [pattern, ...(allOf ?? []).map((part) => part.pattern)].filter((each) => each !== undefined)
    expect(all.every((each) => fits(each, good))).toBe(true)
    expect(all.every((each) => fits(each, bad))).toBe(false)
  })

  it('has as many parts as it reads characters', () => {
    expect(new Pattern('^[a-z]{9}$').size).toBe(12)
    expect(fits('^(?:){1000000000}$', '')).toBe(true)
    expect(new Pattern('(?:(?=a{9})a){9}').size).toBe(29)
  })

  it('is refused when it is too deep to be read', () => {
    const deep = `${'('.repeat(30_000)}${')'.repeat(30_000)}`
    expect(() => new Pattern(deep)).toThrow('is no pattern')
  })

  it.each([
    ['(', 'is no pattern'],
    ['a{2,1}', 'is no pattern'],
    ['\\p{Nothing}', 'is no pattern'],
    ['(a)\\1', 'refers back to a group, which is not supported: \\1'],
    ['(?<a>a)\\k<a>', 'refers back to a group'],
    ['a{10000}', 'is too large: the patterns of a schema have at most 10,000 parts'],
    ['(?:a{200}){200}', 'is too large: the patterns of a schema have at most 10,000 parts'],
    ['(?:){0,1000000000}', 'is too large: the patterns of a schema have at most 10,000 parts'],
  ])('is refused: %s', (pattern, message) => {
    expect(() => new Pattern(pattern)).toThrow(message)
  })
})

const { pattern: patterns } = fc.letrec<{ pattern: string; part: string; group: string }>((tie) => ({
  pattern: fc
    .array(
      fc.array(tie('part'), { maxLength: 3 }).map((parts) => parts.join('')),
      { minLength: 1, maxLength: 2 },
    )
    .map((alternatives) => alternatives.join('|')),
  part: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc
      .tuple(
        fc.constantFrom(
          ...[
            'a',
            'b',
            'a',
            '1',
            ' ',
            '-',
            'é',
            '𝒳',
            '.',
            '\\d',
            '\\s',
            '\\w',
            '\\W',
            '[^]',
            '[]',
            '[ab]',
            '[^a]',
          ],
          ...['\\p{L}', '\\P{Ll}', '[\\w-]', '[\\u{1D400}-\\u{1D7FF}]', '\\u{1D4B3}', '\\ud835\\udcb3'],
          ...[
            '\\ud835',
            '\\udcb3',
            '[\\ud835]',
            '[^\\udcb3b]',
            '\\n',
            '\\x61',
            '\\u0062',
            '\\cJ',
            '\\.',
            '\\/',
          ],
        ),
        fc.constantFrom('', '', '', '*', '+', '?', '*?', '{2}', '{1,2}', '{0,12}?', '{2,}'),
      )
      .map((each) => each.join('')),
    fc.constantFrom('^', '$', '\\b', '\\B'),
    tie('group'),
  ),
  group: fc
    .tuple(
      fc.constantFrom('(', '(?:', '(?:', '(?=', '(?!', '(?<=', '(?<!'),
      tie('pattern'),
      fc.constantFrom('', '', '*', '+', '?', '+?', '{2}', '{0,2}', '{1,}'),
    )
    .map(([start, inner, times]) => `${start}${inner})${/^\(\?(?:[=!]|<)/.test(start) ? '' : times}`),
}))

const texts = fc
  .array(
    fc.constantFrom('a', 'b', 'a', '1', ' ', '-', 'é', '𝒳', '\ud835', '\udcb3', '\n', '\u2028', 'Z', '.'),
    {
      maxLength: 7,
    },
  )
  .map((characters) => characters.join(''))
const repeatedTexts = texts.filter((text) => text.length > 0)
