import { describe, expect, it } from 'vitest'
import { boundForm, boundJson } from '../../../src/http/requests/bounded-parts.ts'

const list = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => item(index)).join()
/** Long enough that a text with it is looked at. */
const LONG = `"${'x'.repeat(70_000)}"`
const TOO_LARGE: unknown = expect.objectContaining({ status: 413 })

describe('boundJson', () => {
  it.each<[what: string, few: number, many: number, text: (count: number) => string]>([
    ['arrays', 90_000, 100_000, (count) => `[${list(count, () => '[]')}]`],
    ['objects', 90_000, 100_000, (count) => `[${list(count, () => '{}')}]`],
    ['members of one object', 19_000, 20_001, (count) => `{${list(count, (at) => `"${at}":1`)}}`],
    ['keys of many objects', 16_000, 20_001, (count) => `[${list(count, (at) => `{"${at}" :1}`)}]`],
    ['short strings', 160_000, 200_001, (count) => `[${list(count, () => '"word"')}]`],
    ['numbers', 999_000, 1_000_002, (count) => `[${list(count, () => '1')}]`],
    ['deep arrays', 20, 70, (count) => `[${list(count, () => '['.repeat(500) + ']'.repeat(500))}]`],
    ['halves', 1, 2, (count) => `[${LONG},${list(count * 50_001, () => '{}')},${list(count, () => '1')}]`],
  ])('lets some %s through, and no more', (_, few, many, text) => {
    expect(() => {
      boundJson(text(few))
    }).not.toThrow()
    expect(() => {
      boundJson(text(many))
    }).toThrow(TOO_LARGE)
  })

  it.each<[what: string, text: string]>([
    [
      'rows of a table',
      `[${list(13_000, (row) => `{${list(10, (at) => `"column${at}":"value ${row}"`)}}`)}]`,
    ],
    ['a long list of points', `[${list(80_000, (at) => `[${at}.25,${at}.5]`)}]`],
    [
      'what is in strings',
      JSON.stringify(['{'.repeat(200_000), '\\"['.repeat(100_000), '\\'.repeat(100_001)]),
    ],
    ['what is deeper than anything that is stored', `${'['.repeat(80_000)}${']'.repeat(80_000)}`],
    ['what is no JSON', `{"${'x'.repeat(70_000)}`],
  ])('lets %s through', (_, text) => {
    expect(() => {
      boundJson(text)
    }).not.toThrow()
  })
})

describe('boundForm', () => {
  it.each([
    ['field', '&', 10_000],
    ['part', '\r\n--', 1_000],
  ] as const)('counts each %s', (kind, separator, most) => {
    expect(() => {
      boundForm(separator.repeat(most), kind, separator)
    }).not.toThrow()
    expect(() => {
      boundForm(separator.repeat(most + 1), kind, separator)
    }).toThrow(`Request body too large: it may have ${most.toLocaleString('en')} ${kind}s`)
  })
})
