import { describe, expect, it } from 'vitest'
import { listOfTexts, restored, storable } from '../../../src/storage/sqlite/texts.ts'

const PLAIN = ['', 'a', 'é', '😀', '\u0002', '"a\\u0000"', '{"a":"\\u0000"}']
const CHANGED = [
  '\0',
  'a\0b',
  '\u0001',
  'a\u00010000',
  '\ud83d',
  'a\ude00',
  '\ude00\ud83d',
  '😀\ud83d',
  'a\0\u0001\ud83d',
]

describe('storable', () => {
  it('leaves a text as it is that every driver stores', () => {
    expect(PLAIN.map(storable)).toEqual(PLAIN)
    expect([1, null].map(storable)).toEqual([1, null])
  })

  it('answers other texts for those that a driver would cut or change', () => {
    for (const text of CHANGED) {
      expect(storable(text)).not.toContain('\0')
      expect(storable(text)).not.toMatch(/\p{Surrogate}/u)
    }
    expect(new Set(CHANGED.map(storable)).size).toBe(CHANGED.length)
  })

  it('keeps what comes before a character that it escapes', () => {
    expect(storable('schedules/a\0')).toMatch(/^schedules\/a/)
  })
})

describe('restored', () => {
  it.each([...PLAIN, ...CHANGED])('answers %j as it was', (text) => {
    expect(restored(storable(text))).toBe(text)
  })

  it('leaves numbers and nothing as they are', () => {
    expect([1, null].map(restored)).toEqual([1, null])
  })
})

describe('listOfTexts', () => {
  it('is JSON of the texts as they are stored', () => {
    expect(JSON.parse(listOfTexts(new Set(['a', '\0'])))).toEqual(['a', storable('\0')])
  })
})
