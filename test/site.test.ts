import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { addressOf, pageHref } from '../site/addresses.ts'
import { navigationOf } from '../site/navigation.ts'
import { linksOf } from './support/links.ts'
import { pagesOfDocs } from './support/documents.ts'

const filesIn = (folder: string): string[] =>
  navigationOf(folder, readFileSync(`${folder}/README.md`, 'utf8')).flatMap(({ entries }) =>
    entries.map(({ file }) => file),
  )
const pagesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => `${folder}/${name}`)

describe('the navigation of the site', () => {
  it('has every page of docs once, under a heading', () => {
    expect(filesIn('docs').sort()).toEqual([...pagesIn('docs'), 'docs/decisions/README.md'].sort())
  })

  it('has every decision once', () => {
    expect(filesIn('docs/decisions').sort()).toEqual(pagesIn('docs/decisions').sort())
  })
})

describe('addressOf', () => {
  it.each([
    ['docs/runs.md', 'waitpoints.md#sleep', { href: '/waitpoints#sleep' }],
    ['docs/README.md', 'decisions/README.md', { href: '/decisions/' }],
    ['docs/decisions/sqlite.md', '../../README.md', { href: '/' }],
    ['README.md', 'docs/README.md', { href: '/pages' }],
    ['README.md', 'CHANGELOG.md', { href: '/changelog' }],
    ['examples/README.md', 'nightly-import/README.md', { href: '/examples/nightly-import/' }],
    ['examples/README.md', 'host.ts', { href: '/files/examples/host.ts.txt', copy: 'examples/host.ts' }],
    ['docs/README.md', 'openapi.json', { href: '/files/docs/openapi.json', copy: 'docs/openapi.json' }],
    ['bench/README.md', 'plots', {}],
  ])('leads from %s to %s', (from, target, address) => {
    expect(addressOf(from, target)).toEqual(address)
  })

  it('refuses a link to nothing', () => {
    expect(() => addressOf('docs/runs.md', 'nowhere.md')).toThrow('docs/runs.md: there is no "nowhere.md"')
  })

  it('has a place for each link of the documents, and a page of its own for each of them', () => {
    const pages = ['README.md', ...pagesOfDocs()]
    const addresses = pages.flatMap((page) =>
      linksOf(page, readFileSync(page, 'utf8')).map(
        ({ target }) => target.startsWith('#') || addressOf(page, target),
      ),
    )
    expect(addresses.length).toBeGreaterThan(100)
    expect(new Set(pages.map(pageHref)).size).toBe(pages.length)
  })
})
