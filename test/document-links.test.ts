import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { pagesOfDocs } from './support/documents.ts'
import { anchorsOf, linksOf, problemOf } from './support/links.ts'
import { readSources } from './support/modules.ts'

const documents = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...pagesOfDocs(),
  'bench/README.md',
  ...readdirSync('examples', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `examples/${path}`),
  'llms.txt',
].filter((path) => existsSync(path))
const links = documents.flatMap((path) => linksOf(path, readFileSync(path, 'utf8')))
const linkedFrom = (...sources: readonly string[]): readonly string[] =>
  links
    .filter(({ place }) => sources.some((source) => place.startsWith(`${source}:`)))
    .map(({ path }) => path)

describe('links of documents', () => {
  it('are found in all documents', () => {
    expect(documents).toEqual(expect.arrayContaining(['README.md', 'llms.txt', 'docs/README.md']))
    expect(links.length).toBeGreaterThan(20)
  })

  it('lead to files and headings that exist', () => {
    expect(links.flatMap((link) => problemOf(link) ?? [])).toEqual([])
  })

  it('lead to every page of docs/ from the README, or from the index of its folder', () => {
    const reachable = (page: string): boolean =>
      linkedFrom('README.md', 'docs/README.md', `${dirname(page)}/README.md`).includes(page)
    expect(pagesOfDocs().filter((page) => !reachable(page))).toEqual([])
  })

  it('lead to every page of docs/ from llms.txt, which names a folder with an index of its own once', () => {
    const named = linkedFrom('llms.txt')
    const isNamed = (page: string): boolean =>
      named.includes(page) || (dirname(page) !== 'docs' && named.includes(`${dirname(page)}/README.md`))
    expect(pagesOfDocs().filter((page) => !isNamed(page))).toEqual([])
  })

  it('in doc comments name pages and headings that exist', () => {
    const cited = [...readSources('src')].flatMap(([path, text]) =>
      [...text.matchAll(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g)].map(([target]) => ({
        place: path,
        target,
        path: target.split('#')[0] ?? '',
        anchor: target.split('#')[1],
      })),
    )
    expect(cited.flatMap((link) => problemOf(link) ?? [])).toEqual([])
  })
})

/** `a/b/c.ts`, `b/c.ts` and `c.ts`. */
function endsOf(path: string): readonly string[] {
  const parts = path.split('/')
  return parts.map((_part, at) => parts.slice(at).join('/'))
}

describe('names of files', () => {
  /** Files of users, and those that a rule forbids. */
  const others = ['sdk.mjs', 'trigger.config.ts', 'utils.ts', 'types.ts']

  it('in comments, and in what contributors read, are those of files that exist', () => {
    const folders = ['src', 'test', 'bench', 'scripts', 'examples', 'docs']
    const inFolders = folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
    )
    // A folder before the name counts: files are called by the end of their path.
    const names = new Set([...readdirSync('.'), ...inFolders].flatMap(endsOf))
    const decisions = pagesOfDocs().filter((path) => path.startsWith('docs/decisions/'))
    const forContributors = ['ARCHITECTURE.md', 'CONTRIBUTING.md', ...decisions]
    const texts = [
      ...forContributors.map((path) => [path, readFileSync(path, 'utf8')] as const),
      ...[...readSources('src'), ...readSources('bench')].map(
        ([path, text]) => [path, (text.match(/^\s*(?:\*|\/\/|\/\*).*$/gm) ?? []).join('\n')] as const,
      ),
    ]
    const named = texts.flatMap(([path, text]) =>
      Array.from(text.matchAll(/`(?:\.{1,2}\/)*([\w-][\w./-]*\.(?:ts|mjs|md|sql))`/g), ([, name = '']) => ({
        path,
        name,
      })),
    )
    expect(named.length).toBeGreaterThan(50)
    expect(named.filter(({ name }) => !names.has(name) && !others.includes(name))).toEqual([])
  })
})

describe('the README', () => {
  const readme = readFileSync('README.md')

  it('has at most 120 lines and 6.5 kB', () => {
    expect(readme.toString().trimEnd().split('\n').length).toBeLessThanOrEqual(120)
    expect(readme.length).toBeLessThanOrEqual(6_500)
  })
})

describe('the numbers of the README', () => {
  const [, numbers = ''] = /^## Numbers\n(.*?)^## /ms.exec(readFileSync('README.md', 'utf8')) ?? []
  const figures = numbers.match(/\d[\d.]* (?:ns|µs|ms|s|kB|MB|GB)\b/g) ?? []

  it('are those that the bench has measured', () => {
    const reports = readdirSync('bench/results').map((file) => `bench/results/${file}`)
    const measured = ['bench/README.md', ...reports].map((path) => readFileSync(path, 'utf8')).join('\n')
    expect(figures.length).toBeGreaterThan(6)
    expect(figures.filter((figure) => !measured.includes(` ${figure} `))).toEqual([])
  })
})

describe('linksOf', () => {
  const found = (text: string): readonly string[] => linksOf('docs/a.md', text).map(({ path }) => path)

  it('finds links, images, definitions and HTML, from where the document is', () => {
    expect(found('[one](b.md) ![two](../c.svg "title")')).toEqual(['docs/b.md', 'c.svg'])
    expect(found('[one]: b/\n<a href="../d.md#x">d</a>')).toEqual(['docs/b', 'd.md'])
    expect(linksOf('docs/a.md', '\n[one](#two)')).toMatchObject([
      { place: 'docs/a.md:2', path: 'docs/a.md', anchor: 'two' },
    ])
  })

  it('takes nothing from code, and nothing that leads elsewhere', () => {
    expect(found('`[one](b.md)` ``a ` [one](b.md)``\n```ts\n[one](b.md)\n```')).toEqual([])
    expect(found('[one](https://example.com) [two](mailto:a@example.com)')).toEqual([])
  })
})

describe('problemOf', () => {
  const problem = (target: string): string | undefined => {
    const [link] = linksOf('CONTRIBUTING.md', `[x](${target})`)
    return link && problemOf(link)
  }

  it('finds a file or a heading that does not exist', () => {
    expect(problem('LICENSE')).toBeUndefined()
    expect(problem('#layout')).toBeUndefined()
    expect(problem('nowhere.md')).toBe('CONTRIBUTING.md:1: there is no "nowhere.md"')
    expect(problem('../package.json')).toContain('there is no')
    expect(problem('#nowhere')).toContain('no heading of CONTRIBUTING.md has the anchor "#nowhere"')
  })
})

describe('anchorsOf', () => {
  it('gives headings the anchors that GitHub gives them', () => {
    const headings = [
      '# One, two & `three()`',
      '## The [link](a.md) · _it_',
      '## Again',
      '## Again',
      '### Ünï-code 2',
    ]
    expect(anchorsOf(headings.join('\n'))).toEqual([
      'one-two--three',
      'the-link--it',
      'again',
      'again-1',
      'ünï-code-2',
    ])
  })

  it('takes no heading from code', () => {
    expect(anchorsOf('```sh\n# no heading\n```\n<a id="here"></a>')).toEqual(['here'])
  })
})
