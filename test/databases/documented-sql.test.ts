import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createEngine, type Storage, task } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { sqliteStorage } from 'waitpoint/sqlite'
import { approveTask } from './approve-task.ts'
import { openDriver } from './drivers.ts'
import { connectPostgres } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'

const page = readFileSync('docs/operations.md', 'utf8')
const statements = [...page.matchAll(/^```sql\n(?<sql>.*?)^```$/gms)].map(
  ({ groups }) => groups?.['sql'] ?? '',
)

/** Makes a storage have one run that waits and one that no engine executes, and calls `look` while both are there. */
async function withRuns(storage: Storage, look: () => Promise<void>): Promise<void> {
  const approve = approveTask()
  const later = task({ id: 'later', run: () => undefined })
  await using worker = createEngine({ tasks: [approve], storage })
  await using web = createEngine({ tasks: [approve, later], storage, execute: false })
  const { id } = await web.trigger(approve, 'ada')
  await web.trigger(later, undefined)
  for await (const { status } of worker.runs.subscribeToRun(id)) if (status === 'WAITING') break
  await look()
}

/** So that there is a row for the statement that looks for runs whose process died. */
const DIED = 'UPDATE runs SET interruptions = 1'

describe('each SQL statement of docs/operations.md', () => {
  it('is found', () => {
    expect(statements.length).toBeGreaterThanOrEqual(3)
  })

  it('finds something in a SQLite file', async () => {
    const handle = openDriver(':memory:')
    await withRuns(sqliteStorage(handle), async () => {
      handle.exec(DIED)
      for (const sql of statements) expect(handle.prepare(sql).all(), sql).not.toEqual([])
    })
    handle.close()
  })

  it('finds something in a Postgres schema', async () => {
    await using place = new FreshSchema()
    const { connectionString, schema } = place
    await withRuns(postgresStorage({ connectionString, schema }), async () => {
      await using client = await connectPostgres()
      await client.query(`SET search_path TO ${schema}`)
      await client.query(DIED)
      for (const sql of statements) expect((await client.query(sql)).rows, sql).not.toEqual([])
    })
  })
})
