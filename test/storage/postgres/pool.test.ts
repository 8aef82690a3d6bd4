import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { CONNECT_MS, openPool, withOnePool } from '../../../src/storage/postgres/pool.ts'

function failure(code: string, message: string): () => never {
  return () => {
    throw Object.assign(new Error(message), { code })
  }
}

describe('openPool', () => {
  it('says what to install when there is no driver', () => {
    const load = failure('MODULE_NOT_FOUND', 'Cannot find module')
    expect(() => openPool('postgres://localhost', { max: 1, load })).toThrow(/run `npm install pg`$/)
  })

  it('says for what the driver is missing', async () => {
    const load = failure('MODULE_NOT_FOUND', 'Cannot find module')
    const opened = withOnePool('postgres://localhost', { what: 'open it', load }, () => Promise.resolve())
    await expect(opened).rejects.toThrow('Cannot open it: there is no driver for it; run `npm install pg`')
  })

  it('makes connections that end when nothing is heard of the server', () => {
    const asked: unknown[] = []
    class Pool {
      constructor(options: unknown) {
        asked.push(options)
      }
      on(): void {
        // Nothing happens to it.
      }
    }
    openPool('postgres://localhost', { max: 3, load: () => ({ Pool }) })
    expect(asked).toEqual([
      expect.objectContaining({ max: 3, keepAlive: true, connectionTimeoutMillis: CONNECT_MS }),
    ])
  })

  it('survives a server that lets a connection in and ends it at once', () => {
    const opened: unknown = openPool('postgres://localhost', { max: 1, load: () => ({ Pool: EventEmitter }) })
    // It is what the driver made.
    const pool = opened as EventEmitter
    const client = new EventEmitter()
    pool.emit('connect', client)
    expect(() => client.emit('error', new Error('terminating connection'))).not.toThrow()
  })

  it('says what is wrong with a driver that is there', () => {
    const load = failure('ERR_DLOPEN_FAILED', 'no such symbol')
    expect(() => openPool('postgres://localhost', { max: 1, load })).toThrow(
      /pg cannot be loaded: no such symbol$/,
    )
  })
})
