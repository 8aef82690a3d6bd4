import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { linksOf } from './support/links.ts'

interface Packed {
  readonly files: readonly { readonly path: string }[]
}

/** What `npm pack` would put into the package, as far as it is there: not `dist`, in a clean checkout. */
function packedFiles(): readonly string[] {
  const report = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    encoding: 'utf8',
  })
  const parsed = JSON.parse(report) as readonly Packed[] | Readonly<Record<string, Packed>>
  return Object.values(parsed)[0]?.files.map(({ path }) => path) ?? []
}

/** Pictures are not shipped. */
const PICTURE = /\.(png|svg)$/

function deadLinks(files: readonly string[], texts: ReadonlyMap<string, string>): string[] {
  const isThere = (path: string): boolean =>
    files.includes(path) || files.includes(`${path}/README.md`) || PICTURE.test(path)
  return [...texts].flatMap(([file, text]) =>
    linksOf(file, text)
      .filter(({ path }) => !isThere(path))
      .map(({ place, target }) => `${place}: ${target}`),
  )
}

describe('the documents of the package', () => {
  it('link only to what is in it', () => {
    const files = packedFiles()
    const documents = files.filter((path) => /\.(md|txt)$/.test(path))
    expect(documents).toEqual(expect.arrayContaining(['README.md', 'docs/runs.md', 'llms.txt']))
    expect(files.filter((path) => PICTURE.test(path))).toEqual([])
    expect(deadLinks(files, new Map(documents.map((path) => [path, readFileSync(path, 'utf8')])))).toEqual([])
  })
})

describe('deadLinks', () => {
  it('finds a link to a file that is not packed', () => {
    const texts = new Map([['docs/a.md', '[x](../src/b.ts) [y](c.md#d) ![z](e.png) [w](folder)']])
    expect(deadLinks(['docs/a.md', 'docs/c.md', 'docs/folder/README.md'], texts)).toEqual([
      'docs/a.md:1: ../src/b.ts',
    ])
  })
})
