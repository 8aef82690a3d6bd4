import { describe, expect, it } from 'vitest'
import { type Task, task, wait } from 'waitpoint'
import { type Body, explore, type ExploreOptions, InvariantViolation } from 'waitpoint/testing'
import type { SqliteHandle } from '../../src/storage/sqlite/handle.ts'
import { rejection } from '../support/body-task.ts'
import { drivers } from './drivers.ts'

/** Moves money between two accounts, with a statement for each of them. */
function transfer(move: (db: SqliteHandle) => void, db: SqliteHandle): Task<null, void> {
  return task({
    id: 'transfer',
    run: async (_payload: null) => {
      if (db.prepare('SELECT * FROM done').get() === undefined) move(db)
      await wait.for({ seconds: 1 })
    },
  })
}

function oneByOne(db: SqliteHandle): void {
  db.prepare('UPDATE account SET amount = amount - 1 WHERE id = 1').run()
  db.prepare('UPDATE account SET amount = amount + 1 WHERE id = 2').run()
  db.prepare('INSERT INTO done VALUES (1)').run()
}

function inTransaction(db: SqliteHandle): void {
  db.exec('BEGIN')
  oneByOne(db)
  db.exec('COMMIT')
}

describe.each(drivers)('t.outside with %s', (_name, open) => {
  function body(move: (db: SqliteHandle) => void): Body {
    return async (t) => {
      const database = open(':memory:')
      try {
        database.exec(
          'CREATE TABLE account (id, amount); INSERT INTO account VALUES (1, 5), (2, 5); CREATE TABLE done (id)',
        )
        const db = t.outside('db', database)
        const moving = transfer(move, db)
        t.use(moving)
        await (await t.engine.trigger(moving, null)).result()
        const amounts = db.prepare('SELECT amount FROM account ORDER BY id').all()
        expect(amounts).toMatchObject([{ amount: 4 }, { amount: 6 }])
        t.sometimes('it was executed again', t.calls(moving).length > 1)
      } finally {
        database.close()
      }
    }
  }
  const options: ExploreOptions = { crashes: 'every-commit', maxDeviations: 1, budget: { ms: Infinity } }

  it('finds the crash between two statements', async () => {
    const error = await rejection(explore(body(oneByOne), options))
    expect(error).toMatchObject({ code: 'ERR_EXPLORATION_FAILED', trace: [{ kind: 'crash' }] })
    expect(String(error)).toContain(
      'transfer: db.run UPDATE account SET amount = amount - 1 WHERE id = 1: the process dies of it',
    )
    expect(error instanceof Error && error.cause).not.toBeInstanceOf(InvariantViolation)
  })

  it('rolls back what was open at a crash', async () => {
    expect(await explore(body(inTransaction), options)).toMatchObject({ complete: true })
  })
})
