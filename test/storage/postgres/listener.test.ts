import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { PostgresListener } from '../../../src/storage/postgres/listener.ts'
import type { PostgresPool, PostgresPoolClient } from '../../../src/storage/postgres/pool.ts'
import { pauseReal } from '../../../src/storage/real-timer.ts'

/** A connection that is told of what is notified, or breaks while it begins to listen. */
class Connection extends EventEmitter {
  isReleased = false
  readonly #breaks: boolean

  constructor(breaks: boolean) {
    super()
    this.#breaks = breaks
  }

  query(): Promise<{ readonly rows: readonly unknown[] }> {
    if (!this.#breaks) return Promise.resolve({ rows: [] })
    this.emit('error', new Error('gone'))
    return Promise.reject(new Error('gone'))
  }

  release(): void {
    this.isReleased = true
  }
}

function listenerOf(pool: object): PostgresListener {
  // It has what a listener uses of one.
  const both = pool as PostgresPool
  return new PostgresListener({
    channel: 'c',
    listening: both,
    speaking: both,
    checkMs: 3_600_000,
    hear: () => undefined,
    missed: () => undefined,
  })
}

describe('PostgresListener', () => {
  it('keeps one connection, also when one breaks while it begins to listen', async () => {
    const made: Connection[] = []
    const listening = {
      connect(): Promise<PostgresPoolClient> {
        const connection = new Connection(made.length === 1)
        made.push(connection)
        return Promise.resolve(connection as unknown as PostgresPoolClient)
      },
    } as unknown as PostgresPool
    const speaking = {
      query(_text: string, [channel, payload]: unknown[]) {
        made.at(-1)?.emit('notification', { channel, payload })
        return Promise.resolve({ rows: [] })
      },
    } as unknown as PostgresPool
    let missed = 0
    const listener = new PostgresListener({
      channel: 'c',
      listening,
      speaking,
      checkMs: 10,
      hear: () => undefined,
      missed: () => (missed += 1),
    })
    await listener.open()
    for (let breaks = 1; breaks <= 5; breaks += 1) {
      made.at(-1)?.emit('error', new Error('gone'))
      while (missed < breaks) await pauseReal(5)
    }
    expect(made.filter(({ isReleased }) => !isReleased)).toHaveLength(1)
    listener.close()
    expect(made.filter(({ isReleased }) => !isReleased)).toHaveLength(0)
  })

  it.each(['LISTEN', 'pg_notify', 'SELECT 1'])(
    'gives its connection back when %s is refused as it opens: the pool could not end otherwise',
    async (refused) => {
      const answer = (text = ''): ReturnType<Connection['query']> =>
        text.includes(refused) ? Promise.reject(new Error('refused')) : Promise.resolve({ rows: [] })
      class RefusingConnection extends Connection {
        override query(text?: string): ReturnType<Connection['query']> {
          return answer(text)
        }
      }
      const connection = new RefusingConnection(false)
      const listener = listenerOf({ connect: () => Promise.resolve(connection), query: answer })
      await expect(listener.open()).rejects.toThrow('refused')
      expect(connection.isReleased).toBe(true)
    },
  )

  it.each(['breaks', 'is closed'])('says so at once when it %s while it is tested', async (what) => {
    const made: Connection[] = []
    const listener = listenerOf({
      connect() {
        made.push(new Connection(false))
        return Promise.resolve(made.at(-1))
      },
      query() {
        if (what === 'breaks') made[0]?.emit('error', new Error('gone'))
        else listener.close()
        return Promise.resolve({ rows: [] })
      },
    })
    await expect(listener.open()).rejects.toThrow('lost while it was tested')
    expect(made.map(({ isReleased }) => isReleased)).toEqual([true])
  })

  it('hears itself also when its message is read no sooner than the answer to what is asked after it', async () => {
    class LateConnection extends Connection {
      override query(text?: string): ReturnType<Connection['query']> {
        if (text === 'SELECT 1') this.emit('notification', { channel: 'c', payload: 'test' })
        return super.query()
      }
    }
    const connection = new LateConnection(false)
    const listener = listenerOf({
      connect: () => Promise.resolve(connection),
      query: () => Promise.resolve({ rows: [] }),
    })
    await listener.open()
    listener.close()
    expect(connection.isReleased).toBe(true)
  })
})
