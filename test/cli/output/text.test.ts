import { describe, expect, it } from 'vitest'
import { oneLine, shortened, shownJson, visible } from '../../../src/cli/output/text.ts'

const HOSTILE = 'a\u001b[31mb\u009b2Jc\u202ed\u0007\r'

describe('visible', () => {
  it('shows what a terminal would act on by its number', () => {
    expect(visible(HOSTILE)).toBe('a⟨U+001B⟩[31mb⟨U+009B⟩2Jc⟨U+202E⟩d⟨U+0007⟩⟨U+000D⟩')
    expect(visible('line\n\ttab ä 漢')).toBe('line\n\ttab ä 漢')
  })
})

describe('oneLine', () => {
  it('leaves no line feed', () => expect(oneLine('a\n\tb')).toBe('a b'))
})

describe('shownJson', () => {
  it('is JSON of the same value, without a character that a terminal acts on', () => {
    const text = shownJson({ text: HOSTILE })
    // eslint-disable-next-line no-control-regex -- these are what must not be there
    expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
    expect(JSON.parse(text)).toEqual({ text: HOSTILE })
    expect(shownJson(undefined)).toBe('null')
  })
})

describe('shortened', () => {
  it('ends with an ellipsis where something is missing', () => {
    expect(shortened('abcd', 4)).toBe('abcd')
    expect(shortened('abcde', 4)).toBe('abc…')
  })
})
