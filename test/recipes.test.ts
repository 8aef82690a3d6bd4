import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

/** The rows of the section: what is added, a name that was, and the files that have it. */
function recipes(): readonly (readonly [what: string, name: string, file: string])[] {
  const [, section = ''] =
    /^## Add something\n([^]*?)^## /m.exec(readFileSync('CONTRIBUTING.md', 'utf8')) ?? []
  return section
    .split('\n')
    .filter((line) => line.startsWith('| a'))
    .flatMap((line) => {
      const [what = '', example = '', files = ''] = line
        .split('|')
        .slice(1)
        .map((cell) => cell.trim())
      const named = Array.from(files.matchAll(/`((?:src|test)\/[^`]+)`/g), ([, file = '']) => file)
      return named.map((file) => [what, example.replaceAll('`', ''), file] as const)
    })
}

describe('the recipes of CONTRIBUTING.md', () => {
  it.each(recipes())('%s: %s is in %s', (_what, name, file) => {
    expect(readFileSync(file, 'utf8')).toContain(name)
  })

  it('are for a field, a call, a route and a law', () => {
    const kinds = new Set(recipes().map(([what]) => what))
    expect(kinds.size).toBe(5)
    expect(recipes().length).toBeGreaterThan(12)
  })
})
