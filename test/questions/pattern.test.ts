import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { readPattern } from '../../src/questions/pattern.ts'

const FORMATS = {
  base64: z.base64(),
  cidrv6: z.cidrv6(),
  email: z.email(),
  email5: z.email({ pattern: z.regexes.html5Email }),
  emailOfUnicode: z.email({ pattern: z.regexes.unicodeEmail }),
  emoji: z.emoji(),
  guid: z.guid(),
  hostname: z.hostname(),
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  date: z.iso.date(),
  datetime: z.iso.datetime({ offset: true }),
  duration: z.iso.duration(),
  time: z.iso.time(),
  literals: z.templateLiteral([z.number(), 'px']),
  ulid: z.ulid(),
  uuid: z.uuid(),
}

describe('a pattern of a schema', () => {
  it.each(Object.entries(FORMATS))('is read in one step for each character: %s of zod', (_, schema) => {
    const { pattern, allOf } = z.toJSONSchema(schema)
    for (const each of pattern === undefined ? (allOf ?? []) : [{ pattern }])
      expect(readPattern(each.pattern ?? '').degree).toBe(1)
  })

  it.each([
    ['^[a-z]+-\\d+$', 1],
    ['^(?:[a-z]|%[0-9a-f]{2})*$', 1],
    ['^(GET|POST|PUT|PATCH)$', 1],
    ['^[a-z0-9]+(?:-[a-z0-9]+)*$', 1],
    ['^\\+?\\d{0,3}[ -]?\\d{1,4}[ -]?\\d{1,4}[ -]?\\d{1,9}$', 1],
    ['\\d{1,3}(?:\\.\\d{1,3}){3}', 1],
    ['^(?:[a-z]+,){0,9}[a-z]+$', 1],
    ['^(?:[A-Z][a-z]+ ?){1,3}$', 1],
    ['^(?:[a-z]+,){1,9}(?:\\d+;){1,9}(?:[A-Z]+:){1,9}$', 1],
    ['^(?:(?<a>x+),)(?:y\\d*){2}$', 1],
    ['\\s+$', 2],
    ['^(?:a+b?){2}$', 2],
    ['(?:ba)+a', 2],
    ['.*x$', 2],
    ['^[^@]+@[^@]+\\.[^@]+$', 2],
    ['^\\S+@\\S+\\.\\S+$', 3],
  ])('is taken with its degree: %s, %i', (pattern, degree) => {
    expect(readPattern(pattern).degree).toBe(degree)
  })

  it('is read once for all answers', () => {
    expect(readPattern('^once$')).toBe(readPattern('^once$'))
  })

  it.each([
    '^(a+)+$',
    '^(\\w+\\s?)*$',
    '(a|a)*b',
    '^(a|aa)+$',
    '(x+x+)+y',
    'a*a*a*b',
    '([^]*)*x',
    '(a{1,100}){1,100}b',
    '^(?:a+a){1,9}$',
    '^(?:\\d{1,3},?)+$',
    '^(?:a?a)*b$',
    '^(?:\\w+ ?){1,5}$',
    '(.*){1,32000}[bc]',
    '(?:a|b|ab|ba){50}c',
    '(?:(?:a?){9}){9}b',
    '((a|a){9}){9}b',
    '^a{0,9}a{0,9}a{0,9}a{0,9}a{0,9}a{0,9}a{0,9}a{0,9}b',
    `${'a?'.repeat(29)}${'a'.repeat(29)}$`,
    'a{0,9}a{0,9}a{0,9}a{0,9}b',
    '[a-z]*'.repeat(120),
    '^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+$',
  ])('is refused because it can run away: %s', (pattern) => {
    expect(() => readPattern(pattern)).toThrow('can run away')
  })

  it.each([
    ['(', 'is no pattern'],
    ['a'.repeat(1_001), 'of more than 1,000 characters'],
  ])('is refused: %s', (pattern, message) => {
    expect(() => readPattern(pattern)).toThrow(message)
  })
})
