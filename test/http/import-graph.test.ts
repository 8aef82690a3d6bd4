import { describe, expect, it } from 'vitest'
import { parse, readSources } from '../support/modules.ts'

/** Everything that loading a file of ours loads: files, and packages. */
function loadedBy(entry: string): ReadonlySet<string> {
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

const isOfHttp = (path: string): boolean => /^(?:src\/http|hono|@hono|jose)(?:\/|$)/.test(path)

describe('what HTTP needs', () => {
  it('is loaded with waitpoint/http only', () => {
    expect([...loadedBy('src/http.ts')].filter(isOfHttp)).toEqual(
      expect.arrayContaining(['src/http/serve.ts', 'hono', 'jose', '@hono/node-server']),
    )
    for (const entry of ['src/index.ts', 'src/testing.ts']) {
      expect([...loadedBy(entry)].filter(isOfHttp)).toEqual([])
    }
  })
})
