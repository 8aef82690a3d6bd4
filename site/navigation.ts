/** A page in the navigation. */
export interface Entry {
  readonly text: string
  /** Its file, from the root of the project. */
  readonly file: string
}

/** Pages under one heading. */
export interface Group {
  readonly text: string
  readonly entries: readonly Entry[]
}

const HEADING = /^## (?<heading>.+)$/
const ITEM = /^- \[(?<text>[^\]]+)\]\((?<path>[\w./-]+\.md)\)/

/** The pages that an index lists, such as docs/README.md: so there is one list of all pages. */
export function navigationOf(folder: string, index: string): Group[] {
  const groups: { text: string; entries: Entry[] }[] = []
  for (const line of index.split('\n')) {
    const { heading } = HEADING.exec(line)?.groups ?? {}
    if (heading !== undefined) groups.push({ text: heading, entries: [] })
    const { text, path } = ITEM.exec(line)?.groups ?? {}
    if (text !== undefined && path !== undefined)
      groups.at(-1)?.entries.push({ text, file: `${folder}/${path}` })
  }
  return groups
}
