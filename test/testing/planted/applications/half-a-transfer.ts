import { task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

type Rows = readonly [from: number, to: number]

/** A connection with statements by name, and transactions. */
interface Connection {
  query(sql: 'BEGIN' | 'TAKE' | 'GIVE' | 'COMMIT' | 'ROLLBACK' | 'SELECT'): Promise<Rows>
}

function connect(): Connection {
  let rows: Rows = [5, 5]
  let saved: Rows | undefined
  return {
    query(sql) {
      const [from, to] = rows
      if (sql === 'BEGIN') saved = rows
      if (sql === 'TAKE') rows = [from - 1, to]
      if (sql === 'GIVE') rows = [from, to + 1]
      if (sql === 'ROLLBACK') rows = saved ?? rows
      return Promise.resolve(rows)
    },
  }
}

/** Money is taken by one statement and given by another. Those of the twin are in a transaction. */
export const halfATransfer: Twin = (isFixed) => {
  const body: Body = async (t) => {
    const db = t.outside('db', connect())
    const transfer = task({
      id: 'transfer',
      run: async (_payload: null) => {
        const [, given] = await db.query('SELECT')
        if (given === 5) {
          if (isFixed) await db.query('BEGIN')
          await db.query('TAKE')
          await db.query('GIVE')
          if (isFixed) await db.query('COMMIT')
        }
        await wait.for({ seconds: 1 })
      },
    })
    t.use(transfer)
    await (await t.engine.trigger(transfer, null)).result()
    const [from, to] = await db.query('SELECT')
    if (from + to !== 10) throw new Error(`the accounts have ${from + to} together`)
  }
  return { body, options: { crashes: 'every-commit' }, breaks: 'the body holds' }
}
