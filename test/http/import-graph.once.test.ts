import { describe, expect, it } from 'vitest'
import { loadedBy } from '../support/loaded.ts'

const isOfHttp = (path: string): boolean => /^(?:src\/http|hono|@hono|jose)(?:\/|$)/.test(path)

describe('what HTTP needs', () => {
  it('is loaded with waitpoint/http, or when a test posts to a token, and not before', () => {
    expect([...loadedBy('src/http.ts')].filter(isOfHttp)).toEqual(
      expect.arrayContaining(['src/http/serve.ts', 'hono', 'jose', '@hono/node-server']),
    )
    for (const entry of ['src/index.ts', 'src/testing.ts']) {
      expect([...loadedBy(entry)].filter(isOfHttp)).toEqual([])
    }
  })
})
