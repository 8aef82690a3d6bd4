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

const ASKING = {
  channel: 'c',
  markSql: 'SELECT mark',
  others: () => ({ text: 'SELECT others', values: [] }),
  joined: () => undefined,
  hear: () => undefined,
  missed: () => undefined,
}

function listenerOf(pool: object): PostgresListener {
  // It has what a listener uses of one.
  const both = pool as PostgresPool
  return new PostgresListener({
    ...ASKING,
    listening: both,
    speaking: both,
    checkMs: 3_600_000,
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
      ...ASKING,
      listening,
      speaking,
      checkMs: 10,
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

describe('PostgresListener.isAlone', () => {
  /** A listener whose server knows of others that listen, or of none, and answers when it is let. */
  async function opened(): Promise<{
    readonly server: { others: boolean; answer: Promise<void> }
    readonly connection: Connection
    readonly listener: PostgresListener
    readonly joined: () => number
    readonly greet: () => void
    readonly asked: string[]
  }> {
    const asked: string[] = []
    const server = { others: false, answer: Promise.resolve() }
    let joined = 0
    class AskedConnection extends Connection {
      override async query(text?: string): ReturnType<Connection['query']> {
        asked.push(text ?? '')
        const { others, answer } = server
        await answer
        return { rows: text === 'SELECT others' ? [{ others }] : [] }
      }
    }
    const connection = new AskedConnection(false)
    const greet = (): void => void connection.emit('notification', { channel: 'c', payload: 'test' })
    const pool = {
      connect: () => Promise.resolve(connection),
      query() {
        greet()
        return Promise.resolve({ rows: [] })
      },
    } as unknown as PostgresPool
    const listener = new PostgresListener({
      ...ASKING,
      listening: pool,
      speaking: pool,
      checkMs: 3_600_000,
      joined: () => (joined += 1),
    })
    await listener.open()
    return { server, connection, listener, joined: () => joined, greet, asked }
  }

  it('is true while the server knows of no other, and no other has said that it listens', async () => {
    const { server, listener, joined, greet } = await opened()
    expect(listener.isAlone).toBe(true)
    greet()
    expect([listener.isAlone, joined()]).toEqual([false, 1])
    greet()
    server.others = true
    await listener.look()
    expect([listener.isAlone, joined()]).toEqual([false, 1])
    server.others = false
    await listener.look()
    expect(listener.isAlone).toBe(true)
    server.others = true
    await listener.look()
    expect([listener.isAlone, joined()]).toEqual([false, 2])
    listener.close()
  })

  it('is not made true by an answer from before another said that it listens', async () => {
    const { server, listener, greet } = await opened()
    let give = (): void => undefined
    server.answer = new Promise((resolve) => (give = resolve))
    const looked = listener.look()
    greet()
    give()
    await looked
    expect(listener.isAlone).toBe(false)
    listener.close()
  })

  it('is false once the connection is lost, and says so to those that were not heard', async () => {
    const { connection, listener, joined } = await opened()
    connection.emit('error', new Error('gone'))
    expect([listener.isAlone, joined()]).toEqual([false, 1])
    listener.close()
    expect(joined()).toBe(1)
  })

  it('is made false by a connection that listens again: it marks itself, listens, and greets', async () => {
    const { connection, listener, asked } = await opened()
    asked.length = 0
    connection.emit('error', new Error('gone'))
    while (asked.length < 3) await pauseReal(5)
    expect(asked).toEqual(['SELECT mark', 'LISTEN "c"', 'SELECT pg_notify($1, $2)'])
    listener.close()
  })

  it('is false where the server does not say', async () => {
    const { server, listener } = await opened()
    server.answer = Promise.reject(Object.assign(new Error('permission denied'), { code: '42501' }))
    expect(await listener.look()).toBe(false)
    listener.close()
  })
})
