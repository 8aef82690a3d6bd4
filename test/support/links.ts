import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'

/** A link of a document to another file of the project, or to a heading. */
export interface Link {
  /** `README.md:12`. */
  readonly place: string
  readonly target: string
  /** The file it leads to, from the root of the project. */
  readonly path: string
  readonly anchor: string | undefined
}

const TARGETS = [
  /\]\((?<target>[^()\s]+(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)/g,
  /^\[[^\]]+\]:\s+(?<target>\S+)/gm,
  /\b(?:href|src)="(?<target>[^"]+)"/g,
]
const ELSEWHERE = /^[a-z][a-z+.-]*:/i

/** The links of a document that stay in the project. */
export function linksOf(document: string, text: string): Link[] {
  const prose = withoutCode(text)
  return TARGETS.flatMap((pattern) => [...prose.matchAll(pattern)])
    .map(({ index, groups = {} }) => ({ target: groups['target'] ?? '', line: lineAt(prose, index) }))
    .filter(({ target }) => !ELSEWHERE.test(target))
    .map(({ target, line }) => {
      const [path = '', anchor] = target.split('#')
      const file = path === '' ? document : normalize(join(dirname(document), decodeURI(path)))
      return { place: `${document}:${line}`, target, path: file.replace(/\/$/, ''), anchor }
    })
}

/** What is wrong with a link, if anything is. */
export function problemOf({ place, target, path, anchor }: Link): string | undefined {
  if (target.startsWith('/') || relative('.', path).startsWith('..') || !existsSync(path))
    return `${place}: there is no "${target}"`
  if (anchor === undefined) return undefined
  const page = statSync(path).isDirectory() ? join(path, 'README.md') : path
  const isThere = existsSync(page) && anchorsOf(readFileSync(page, 'utf8')).includes(anchor)
  return isThere ? undefined : `${place}: no heading of ${page} has the anchor "#${anchor}"`
}

/** The anchors that GitHub gives to the headings of a document, and those written as `<a id="…">`. */
export function anchorsOf(text: string): string[] {
  const counts = new Map<string, number>()
  const headings = [...withoutFences(text).matchAll(/^#{1,6} +(?<heading>.+?)(?: +#+)?$/gm)].map(
    ({ groups }) => {
      const slug = slugOf(groups?.['heading'] ?? '')
      const count = counts.get(slug) ?? 0
      counts.set(slug, count + 1)
      return count === 0 ? slug : `${slug}-${count}`
    },
  )
  const written = [...withoutCode(text).matchAll(/<a (?:id|name)="(?<id>[^"]+)"/g)]
  return [...headings, ...written.map(({ groups }) => groups?.['id'] ?? '')]
}

/** Lower case; a link or an emphasis is its text; letters, digits, `_` and `-` stay; a space is a `-`. */
export function slugOf(heading: string): string {
  return heading
    .replace(/!?\[(?<text>[^\]]*)\]\([^)]*\)/g, '$<text>')
    .replace(/(?<![\w])_(?<text>[^_]+)_(?![\w])/g, '$<text>')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replace(/ /g, '-')
}

/** White instead of code, so that lines stay where they are. */
function withoutCode(text: string): string {
  return withoutFences(text).replace(/(?<ticks>`+)(?!`).*?(?<!`)\k<ticks>(?!`)/g, '')
}

function withoutFences(text: string): string {
  return text.replace(/^[ \t]*(?<ticks>`{3,})[^\n`]*\n.*?^[ \t]*\k<ticks>$/gms, (block) =>
    block.replace(/.+/g, ''),
  )
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
