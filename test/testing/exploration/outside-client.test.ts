import { describe, expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { type Body, ProcessCrashedError } from 'waitpoint/testing'
import { rejection } from '../../support/body-task.ts'
import { exploreAll } from './bodies.ts'

type Work<T> = (connection: Accounts) => Promise<T>

/** A database with one connection, in the way of PGlite: statements by name, transactions one after the other. */
class Accounts {
  #rows: readonly number[] = [5, 5]
  #saved: readonly number[] | undefined
  #last: Promise<unknown> = Promise.resolve()

  async query(sql: string): Promise<readonly number[]> {
    await Promise.resolve()
    const [from = 0, to = 0] = this.#rows
    if (sql === 'BEGIN') this.#saved = this.#rows
    else if (sql === 'TAKE') this.#rows = [from - 1, to]
    else if (sql === 'GIVE') this.#rows = [from, to + 1]
    else if (sql === 'ROLLBACK') this.#rows = this.#saved ?? this.#rows
    if (sql === 'COMMIT' || sql === 'ROLLBACK') this.#saved = undefined
    return this.#rows
  }

  transaction<T>(work: Work<T>): Promise<T> {
    const done = this.#last.then(() => this.#transact(work))
    this.#last = done.catch(() => undefined)
    return done
  }

  async #transact<T>(work: Work<T>): Promise<T> {
    await this.query('BEGIN')
    try {
      const result = await work(this)
      await this.query('COMMIT')
      return result
    } catch (error) {
      await this.query('ROLLBACK')
      throw error
    }
  }
}

/** Connections of their own, each with the method that gives it back. */
class Pool {
  readonly accounts: Accounts = new Accounts()
  released: unknown[] = []

  connect(): Promise<Accounts & { release(broken?: boolean): void }> {
    const { accounts } = this
    const release = (broken?: boolean): void => void this.released.push(broken)
    return Promise.resolve(
      Object.assign(Object.create(accounts) as Accounts, { query: accounts.query.bind(accounts), release }),
    )
  }
}

async function move(db: Accounts): Promise<void> {
  await db.query('TAKE')
  await db.query('GIVE')
}

function transferring(
  work: (db: Accounts) => Promise<unknown>,
  accounts: (db: Accounts) => void = () => undefined,
): Body {
  return async (t) => {
    const db = t.outside('db', new Accounts())
    accounts(db)
    const transfer = task({
      id: 'transfer',
      run: async (_payload: null) => {
        if ((await db.query('SELECT'))[1] === 5) await work(db)
        await wait.for({ seconds: 1 })
      },
    })
    t.use(transfer)
    await (await t.engine.trigger(transfer, null)).result()
    expect(await db.query('SELECT')).toEqual([4, 6])
  }
}

describe('t.outside', () => {
  const options = { crashes: 'every-commit', maxDeviations: 1 } as const

  it('finds the crash between two statements', async () => {
    const error = await rejection(exploreAll(transferring(move), options))
    expect(error).toMatchObject({ trace: [{ kind: 'crash', at: 'transfer/db.query TAKE#1', take: 'after' }] })
    expect(String(error)).toContain('transfer: db.query TAKE: the process dies of it')
  })

  it.each([
    ['by a function', (db: Accounts) => db.transaction(move)],
    [
      'by its text',
      async (db: Accounts) => {
        await db.query('BEGIN')
        await move(db)
        await db.query('COMMIT')
      },
    ],
  ] as const)('rolls a transaction back that is open at a crash, begun %s', async (_how, work) => {
    const { complete, runs } = await exploreAll(transferring(work), options)
    expect(complete).toBe(true)
    expect(runs).toBeGreaterThan(20)
  })

  it('lets no other call into the transaction of the only connection', async () => {
    const body: Body = async (t) => {
      const db = t.outside('db', new Accounts())
      const seen: number[] = []
      const look = async (): Promise<void> => {
        const rows = await db.query('SELECT')
        seen.push(rows.reduce((sum, amount) => sum + amount, 0))
      }
      await Promise.all([db.transaction(move), look(), db.transaction(move), look()])
      expect(seen).toEqual([10, 10])
      expect(await db.query('SELECT')).toEqual([3, 7])
    }
    expect(await exploreAll(body)).toMatchObject({ complete: true })
  })

  it('finds a race of two runs that read and write, and shows their statements', async () => {
    const body: Body = async (t) => {
      let stock = 1
      const shelf = {
        read: () => Promise.resolve(stock),
        write: (left: number) => Promise.resolve(void (stock = left)),
      }
      const db = t.outside('shelf', shelf)
      let sold = 0
      const sell = task({
        id: 'sell',
        run: async (_payload: null) => {
          const left = await db.read()
          if (left === 0) return
          await db.write(left - 1)
          sold += 1
        },
      })
      t.use(sell)
      const runs = [await t.engine.trigger(sell, null), await t.engine.trigger(sell, null)]
      for (const run of runs) await run.result()
      if (sold > 1) throw new Error(`${sold} books were sold, of one`)
    }
    const error = await rejection(exploreAll(body))
    expect(String(error)).toContain('2 books were sold, of one')
    expect(String(error)).toContain('sell~2: shelf.read')
  })

  it('destroys the connection of a pool whose process dies', async () => {
    const body: Body = async (t) => {
      const pool = new Pool()
      const db = t.outside('db', pool)
      const transfer = task({
        id: 'transfer',
        run: async (_payload: null) => {
          const connection = await db.connect()
          await connection.query('TAKE')
          connection.release()
        },
      })
      t.use(transfer)
      const run = await t.engine.trigger(transfer, null)
      await run.result()
      const attempts = t.calls(transfer).length
      if (attempts > 1) expect(pool.released.slice(0, -1).every((broken) => broken !== false)).toBe(true)
      t.sometimes('a connection was destroyed', pool.released.includes(true))
    }
    expect(await exploreAll(body, options)).toMatchObject({ complete: true })
  })

  it('takes what a synchronous client does at once, and throws where its process dies', async () => {
    const thrown: unknown[] = []
    const body: Body = async (t) => {
      const rows: string[] = []
      const file = {
        prepare: (sql: string) => ({ run: () => rows.push(sql) }),
        exec: (sql: string) => void rows.push(sql),
      }
      const db = t.outside('db', file)
      const write = task({
        id: 'write',
        run: (_payload: null) => {
          try {
            db.prepare('INSERT one').run()
            db.exec('INSERT two')
          } catch (error) {
            thrown.push(error)
            // A process that is dead has no effect.
            expect(() => db.exec('INSERT never')).toThrow(ProcessCrashedError)
            throw error
          }
        },
      })
      t.use(write)
      await (await t.engine.trigger(write, null)).result()
      expect(rows.slice(-2)).toEqual(['INSERT one', 'INSERT two'])
      expect(rows).not.toContain('INSERT never')
      t.sometimes('half of it', rows.join(' ') === 'INSERT one INSERT one INSERT two')
    }
    expect(await exploreAll(body, options)).toMatchObject({ complete: true })
    expect(thrown.length).toBeGreaterThanOrEqual(4)
    for (const error of thrown) expect(error).toBeInstanceOf(ProcessCrashedError)
  })

  it('calls a listener that it was given as it is', async () => {
    const heard: object[] = []
    const [one, two] = [{ toText: () => 'one' }, { toText: () => 'two' }]
    let notify: (message: object) => void = () => undefined
    const body: Body = async (t) => {
      const client = {
        listen: (listener: (message: object) => void) => {
          notify = listener
          return Promise.resolve()
        },
        send: (message: object) => {
          notify(message)
          return Promise.resolve()
        },
      }
      const db = t.outside('db', client)
      await db.listen((message) => heard.push(message))
      await Promise.all([db.send(one), db.send(two)])
    }
    expect(await exploreAll(body, { maxDeviations: 0 })).toMatchObject({ runs: 1 })
    expect(heard[0]).toBe(one)
    expect(heard[1]).toBe(two)
  })

  it('refuses what it cannot make steps of', async () => {
    const body: Body = (t) => {
      expect(() => t.outside('', {})).toThrow('the name of a client')
      expect(() => t.outside('db', () => undefined)).toThrow('the client')
      // @ts-expect-error -- misspelt
      expect(() => t.outside('db', {}, { synch: true })).toThrow('there is no option "synch"')
      // @ts-expect-error -- no function
      expect(() => t.onRestart('clear')).toThrow('hook')
      return Promise.resolve()
    }
    await exploreAll(body, { maxDeviations: 0 })
  })
})
