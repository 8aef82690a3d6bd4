import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

/** The files that each may take, besides those that its commands write. */
const MOST = { 'a field of runs': 5, 'a field of tokens': 5, 'a call of the storage': 6, 'a route': 1 }

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
    const column = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    expect(readFileSync(file, 'utf8')).toMatch(file.includes('/sql/') ? column : name)
  })

  it.each(Object.entries(MOST))('take few files for %s', (what, most) => {
    const files = recipes().filter(([each]) => each === what)
    expect(files.length).toBeGreaterThan(0)
    expect(files.length).toBeLessThanOrEqual(most)
  })

  it('are for a field, a call, a route and a law', () => {
    const kinds = new Set(recipes().map(([what]) => what))
    expect(kinds.size).toBe(6)
    expect(recipes().length).toBeGreaterThan(20)
  })
})
