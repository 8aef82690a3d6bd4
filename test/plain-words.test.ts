import { Linter } from 'eslint'
import tseslint from 'typescript-eslint'
import { describe, expect, it } from 'vitest'
import { plainWords } from './support/plain-words.js'

/** The messages of the rule about a piece of code. */
function found(code: string): string[] {
  const plugins = { waitpoint: { rules: { 'plain-words': plainWords } } }
  const parser = tseslint.parser as Linter.Parser
  const rules = { 'waitpoint/plain-words': 'error' } as const
  return new Linter()
    .verify(code, [{ languageOptions: { parser }, plugins, rules }] as Linter.Config[])
    .map(({ message }) => message)
}

describe('plainWords', () => {
  it.each([
    ['a line comment', '// Nobody waits.'],
    ['a doc comment', '/** Resolves for everybody. */'],
    ['the name of a test', `it('tells somebody', () => {})`],
    ['the name of a group of tests', `describe.skipIf(false)('whoever', () => {})`],
    ['a cell of a table of tests', `it.each([['somebody waits', 1]])('%s', () => {})`],
    ['the message of an error', `throw new TypeError('Cannot wait: nobody answers')`],
    [
      'a template in the message of an error',
      'throw new Refusal(400, `Cannot tell ${a}: somebody else did`)',
    ],
    ['a message handed to super', `class AError extends Error { constructor() { super('a' + 'nobody') } }`],
    ['a doc comment that opens with "The same"', '/** The same for promises. */'],
    ['a longer one', '/**\n * The same for promises.\n */'],
  ])('refuses %s', (_what, code) => {
    expect(found(code)).toHaveLength(1)
  })

  it.each([
    ['plain sentences', '/** The engine resolves the result. */'],
    ['values that are no messages', `const user = 'nobody'; check(user, 'somebody')`],
    ['"the same" further on', '/** Returns the same promise. */'],
    ['other words', '// An antibody.'],
  ])('allows %s', (_what, code) => {
    expect(found(code)).toEqual([])
  })
})
