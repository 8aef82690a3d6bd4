import { parse, readSources } from './modules.ts'

/** Everything that loading a file of ours loads: files, and packages. */
export function loadedBy(entry: string): ReadonlySet<string> {
  const sources = readSources('src')
  const loaded = new Set<string>()
  const visit = (path: string): void => {
    if (loaded.has(path)) return
    loaded.add(path)
    const source = sources.get(path)
    if (source === undefined) return
    for (const { specifier, target } of parse(path, source).imports) visit(target ?? specifier)
  }
  visit(entry)
  return loaded
}
