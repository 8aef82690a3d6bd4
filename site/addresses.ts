import { existsSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** What has no pages. */
export const NO_PAGES: readonly string[] = [
  '{src,test,scripts,site,build,coverage,dist}/**',
  'bench/*/**',
  'THIRD-PARTY-NOTICES.md',
]

/** Markdown that is no page is copied, as other files are. */
const PAGE =
  /^((README|ARCHITECTURE|CHANGELOG|CONTRIBUTING)\.md|docs\/.+\.md|(bench|examples(\/[\w-]+)?)\/README\.md)$/

/** The file of the site for a page: `docs/runs.md` is at `runs.md`, and a README is the index of its folder. */
export function pagePath(file: string): string {
  if (file === 'docs/README.md') return 'pages.md'
  if (!file.includes('/') && file !== 'README.md') return file.toLowerCase()
  return file.replace(/^docs\//, '').replace(/README\.md$/, 'index.md')
}

/** The address of a page. */
export function pageHref(file: string): string {
  return `/${pagePath(file)}`.replace(/(index)?\.md$/, '')
}

/** Where a link leads to on the site: to a page, to the copy of a file, or nowhere, as a folder has no page. */
export interface Address {
  readonly href?: string
  /** The file that the site needs a copy of. */
  readonly copy?: string
}

/** @param from - The file with the link; all paths are from the root of the project, which is the current folder or `root`. */
export function addressOf(from: string, target: string, root = '.'): Address {
  const [path = '', anchor] = target.split('#')
  const file = normalize(join(dirname(from), decodeURI(path))).replace(/\/$/, '')
  const place = join(root, file)
  if (!existsSync(place)) throw new Error(`${from}: there is no "${target}"`)
  const index = statSync(place).isDirectory() ? `${file}/README.md` : file
  if (PAGE.test(index) && existsSync(join(root, index)))
    return { href: pageHref(index) + (anchor === undefined ? '' : `#${anchor}`) }
  if (index !== file) return {}
  // Servers take `.ts` for a video.
  return { href: `/files/${file}${file.endsWith('.json') ? '' : '.txt'}`, copy: file }
}
