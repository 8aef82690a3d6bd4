import { describe, expect, it } from 'vitest'
import type { OwnClient } from '../../../src/storage/postgres/pool.ts'
import { SilenceWatch } from '../../../src/storage/postgres/silence-watch.ts'

describe('SilenceWatch', () => {
  it('sees the first statement of a connection that was lent before it was known', async () => {
    const watch = new SilenceWatch({
      silentMs: 5,
      elsewhere: { query: async () => ({ rows: [{ pid: 7, finding: 'gone' }] }) },
    })
    const end = await new Promise<string>((resolve) => {
      const stream = { bytesRead: 0, writableLength: 0, destroy: () => resolve('destroyed') }
      const client = {
        processID: 7,
        readyForQuery: false,
        connection: { stream },
        query: async () => ({ rows: [{ pid: 7, started: '1' }] }),
        on: () => undefined,
      }
      // As much of a client of pg as is used.
      void watch.meet(client as unknown as OwnClient)
    })
    watch.close()
    expect(end).toBe('destroyed')
  })
})
