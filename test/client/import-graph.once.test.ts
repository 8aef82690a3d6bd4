import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { loadedBy } from '../support/loaded.ts'

describe('what a client needs', () => {
  it('is little of ours, no engine, and nothing of Node', async () => {
    const loaded = [...loadedBy('src/client.ts')]
    expect(loaded).toContain('src/client/client.ts')
    expect(loaded.filter((path) => path.startsWith('node:'))).toEqual([])
    expect(loaded.filter((path) => !path.startsWith('src/')).sort()).toEqual([
      'eventsource-parser',
      'ms',
      'p-defer',
    ])
    expect(loaded.filter((path) => path.startsWith('src/core/'))).toEqual([])
    expect(loaded.filter((path) => path.startsWith('src/api/')).sort()).toEqual([
      'src/api/cursor-page.ts',
      'src/api/errors.ts',
      'src/api/retry.ts',
      'src/api/run.ts',
      'src/api/stream.ts',
      'src/api/tag-filter.ts',
    ])
  })

  it('can be bundled for a browser', async () => {
    const options = {
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'browser',
      logLevel: 'silent',
    } as const
    const { errors } = await build({ entryPoints: ['src/client.ts'], ...options })
    expect(errors).toEqual([])
  })
})
