import { createRequire } from 'node:module'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Task, task, wait } from 'waitpoint'
import { type Body, explore, type ExploreOptions } from 'waitpoint/testing'
import { rejection } from '../support/body-task.ts'

/** As much of PGlite as the tests use. */
interface Transaction {
  query<Row>(sql: string, parameters?: readonly unknown[]): Promise<{ readonly rows: readonly Row[] }>
}

interface Database extends Transaction {
  exec(sql: string): Promise<unknown>
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const require = createRequire(import.meta.url)
const SCHEMA = `
  CREATE TABLE account (id int PRIMARY KEY, amount int NOT NULL);
  CREATE TABLE done (run text PRIMARY KEY);`
const RESET = 'TRUNCATE account, done; INSERT INTO account VALUES (1, 5), (2, 5)'

type Move = (db: Transaction, run: string) => Promise<void>

const move: Move = async (db, run) => {
  await db.query('UPDATE account SET amount = amount - 1 WHERE id = 1')
  await db.query('UPDATE account SET amount = amount + 1 WHERE id = 2')
  await db.query('INSERT INTO done VALUES ($1)', [run])
}

function transfer(db: Database, how: (db: Database, run: string) => Promise<void>): Task<null, void> {
  return task({
    id: 'transfer',
    run: async (_payload: null, { ctx }) => {
      const { rows } = await db.query('SELECT * FROM done WHERE run = $1', [ctx.run.id])
      if (rows.length === 0) await how(db, ctx.run.id)
      await wait.for({ seconds: 1 })
    },
  })
}

async function byItsText(db: Database, run: string): Promise<void> {
  await db.query('BEGIN')
  await move(db, run)
  await db.query('COMMIT')
}

async function byAFunction(db: Database, run: string): Promise<void> {
  await db.transaction(async (tx) => move(tx, run))
}

describe('t.outside with PGlite', () => {
  let database: Database

  beforeAll(async () => {
    const { PGlite } = require('@electric-sql/pglite') as { readonly PGlite: new () => Database }
    database = new PGlite()
    await database.exec(SCHEMA)
  })
  afterAll(() => database.close())
  beforeEach(() => database.exec(RESET))

  /** Two transfers, each by the first engine that takes it. */
  function body(how: (db: Database, run: string) => Promise<void>): Body {
    return async (t) => {
      await t.external(database.exec(RESET))
      const moving = transfer(t.outside('db', database), how)
      t.use(moving)
      t.startEngine('worker')
      const runs = [await t.engine.trigger(moving, null), await t.engine.trigger(moving, null)]
      for (const run of runs) await run.result()
      const { rows } = await t.external(
        database.query<{ readonly amount: number }>('SELECT amount FROM account ORDER BY id'),
      )
      expect(rows.map(({ amount }) => amount)).toEqual([3, 7])
      t.sometimes('one was executed again', t.calls(moving).length > 2)
    }
  }
  const options: ExploreOptions = { crashes: 'every-commit', maxDeviations: 1, budget: { ms: Infinity } }

  it('finds the crash between two statements', async () => {
    const error = await rejection(explore(body(move), options))
    expect(error).toMatchObject({ code: 'ERR_EXPLORATION_FAILED', trace: [{ kind: 'crash' }] })
    expect(String(error)).toContain('db.query UPDATE account SET amount = amount - 1 WHERE id = 1')
  })

  it.each([
    ['its text', byItsText, { ...options, concurrency: 1 }],
    ['a function', byAFunction, options],
  ])('rolls back what was open at a crash, begun by %s', async (_how, begun, chosen) => {
    expect(await explore(body(begun), chosen)).toMatchObject({ complete: true })
    const drawn = { ...chosen, decider: 'random', budget: { ms: Infinity, runs: 50 } } as const
    expect(await explore(body(begun), drawn)).toMatchObject({ runs: 50 })
  })

  it('finds two runs that share the transaction of their connection', async () => {
    const error = await rejection(explore(body(byItsText), options))
    expect(error).toMatchObject({ trace: [{ kind: 'crash', at: 'transfer/db.query COMMIT#1' }] })
  })

  it('finds a sum that is read and written in two statements', async () => {
    const stale = async (db: Database, run: string): Promise<void> => {
      await db.transaction(async (tx) => {
        await tx.query('UPDATE account SET amount = amount - 1 WHERE id = 1')
        await tx.query('INSERT INTO done VALUES ($1)', [run])
      })
      const { rows } = await db.query<{ readonly amount: number }>('SELECT amount FROM account WHERE id = 2')
      await db.query('UPDATE account SET amount = $1 WHERE id = 2', [(rows[0]?.amount ?? 0) + 1])
    }
    const error = await rejection(explore(body(stale), { ...options, crashes: 'never' }))
    expect(error).toMatchObject({ code: 'ERR_EXPLORATION_FAILED', trace: [{ kind: 'next' }] })
  })
})
