import { vi } from 'vitest'

interface TextCount extends Disposable {
  /** The characters of JSON text that were made or parsed so far: a measure of work that no machine changes. */
  readonly characters: number
}

/** Counts the JSON text that is made and parsed, until it is disposed of. */
export function countText(): TextCount {
  const made = vi.spyOn(JSON, 'stringify')
  const parsed = vi.spyOn(JSON, 'parse')
  return {
    get characters() {
      const texts = [
        ...made.mock.results.map(({ value }) => value as unknown),
        ...parsed.mock.calls.map(([text]) => text as unknown),
      ]
      return texts.reduce<number>((sum, text) => sum + (typeof text === 'string' ? text.length : 0), 0)
    },
    [Symbol.dispose]() {
      made.mockRestore()
      parsed.mockRestore()
    },
  }
}
