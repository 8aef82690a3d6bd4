import { afterAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine, once, type Storage, task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { sqliteStorage } from 'waitpoint/sqlite'
import { migratePostgres } from '../../src/storage/postgres/schema.ts'
import { SqliteDatabase } from '../../src/storage/sqlite/database.ts'
import { bindingOf } from '../../src/storage/sqlite/handle.ts'
import { migrateSqlite } from '../../src/storage/sqlite/schema.ts'
import { openDriver, temporaryFolder } from './drivers.ts'
import { LATER_POSTGRES, LATER_SQLITE } from './later-step.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'

interface Place {
  /** As a process of the present version opens it. */
  open(): Storage
  /** As the first process of a later version does. */
  migrate(): Promise<void> | void
}

const approve = task({
  id: 'approve',
  run: async (name: string, { ctx }) => {
    const effect = await once('effect', async () => `kept of ${ctx.run.id}`)
    const token = await wait.createToken({ tags: [name] })
    return [await wait.forToken<string>(token).unwrap(), effect]
  },
})

async function answer(engine: Engine, name: string): Promise<void> {
  for (;;) {
    const [token] = (await engine.wait.listTokens({ tags: name, status: 'WAITING' })).data
    if (token === undefined) continue
    await engine.wait.completeToken(token.id, 'yes')
    return
  }
}

describe('a database that a later version migrates while a process of this one runs', () => {
  const pool = testPool()
  const folder = temporaryFolder()
  afterAll(async () => {
    await pool.end()
    folder[Symbol.dispose]()
  })

  it.each<readonly [string, () => Place | Promise<Place>]>([
    [
      'SQLite',
      () => {
        const path = folder.file('app.db')
        return {
          open: () => sqliteStorage(openDriver(path)),
          migrate: () => {
            const handle = openDriver(path)
            migrateSqlite(new SqliteDatabase(handle, bindingOf(handle)), LATER_SQLITE)
            handle.close()
          },
        }
      },
    ],
    [
      'Postgres',
      async () => {
        const schema = await freshSchema(pool)
        return {
          open: () => postgresStorage({ pool, schema }),
          migrate: async () => {
            const client = await pool.connect()
            await migratePostgres(client, schema, LATER_POSTGRES)
            client.release()
          },
        }
      },
    ],
  ])('is still one for that process, and refuses the next: %s', async (_, placeOf) => {
    const place = await placeOf()
    await using engine = createEngine({ tasks: [approve], storage: place.open() })
    const before = await engine.trigger(approve, 'before')
    const migration = { isDone: false }
    const load = (async () => {
      const results: unknown[] = []
      for (let round = 0; !migration.isDone || round < 3; round += 1) {
        const name = `during-${round}`
        const run = await engine.trigger(approve, name)
        await answer(engine, name)
        results.push(await run.result())
      }
      return results
    })()
    await place.migrate()
    migration.isDone = true
    for (const result of await load) expect(result).toEqual(['yes', expect.stringMatching(/^kept of run_/)])
    await answer(engine, 'before')
    expect(await before.result()).toEqual(['yes', `kept of ${before.id}`])

    await using late = createEngine({ tasks: [approve], storage: place.open() })
    await expect(late.ready()).rejects.toThrow(
      'its schema is version 2, and this version of waitpoint knows 1: install a newer one',
    )
    expect((await engine.runs.retrieve(before.id)).status).toBe('COMPLETED')
  })
})
