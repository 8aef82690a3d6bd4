import { describe, expect, it, onTestFinished } from 'vitest'
import { createEngine, task } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { countedUrl, entriesRead } from './postgres/index-reads.ts'
import { freshSchema, testPool, type TestPool } from './postgres-schemas.ts'

const HISTORY = 2_000
/** An insert claims no more of one turn. */
const AT_ONCE = 16
const TURNS = 4

const note = task({ id: 'note', run: async () => undefined })

/** Runs that have ended, each triggered with one key. */
const KEYED = `INSERT INTO $s.runs (id, seq, task_id, status, attempt, policy_attempt, interruptions, epoch, slot,
    returned, root_id, queue, created_at, updated_at, lane, held, reserved, ended_at, key_scope, key_value, key_expires_at)
  SELECT 'run_' || lpad(n::text, 26, '0'), -n, 'note', 'COMPLETED', 1, 1, 0, 1, 0, 0, 'run', 'note', n, n, 'lane', 0, 0, n,
    'debounce/note', 'key', 0 FROM generate_series(1, ${HISTORY}) AS n`

/** Runs that stand in line. */
const IN_LINE = `INSERT INTO $s.runs (id, seq, task_id, status, attempt, policy_attempt, interruptions, epoch, slot,
    returned, root_id, queue, created_at, updated_at, lane, held, reserved, line, line_at)
  SELECT 'run_' || lpad(n::text, 26, '0'), -n, 'note', 'QUEUED', 0, 0, 0, 0, 0, 0, 'run', 'note', n, n, 'lane', 0, 0, 1, n
    FROM generate_series(1, ${HISTORY}) AS n`

/** The schema of an engine that is not there any more. */
async function usedSchema(pool: TestPool): Promise<string> {
  const schema = await freshSchema(pool)
  onTestFinished(async () => {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await pool.end()
  })
  const engine = createEngine({ storage: postgresStorage({ connectionString: countedUrl(schema), schema }) })
  await engine.ready()
  await engine.close()
  return schema
}

describe('a schema with a long life', () => {
  it('is vacuumed at a small part of its tables', async () => {
    const reader = testPool(1)
    const schema = await usedSchema(reader)
    const { rows } = await reader.query(
      `SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'
         AND 'autovacuum_vacuum_scale_factor=0.02' = ANY (reloptions) ORDER BY 1`,
      [schema],
    )
    const names = rows.map((row) => (row as { readonly relname: string }).relname)
    expect(names).toEqual(['chunks', 'run_tags', 'runs', 'streams', 'token_tags', 'tokens', 'waits'])
  })

  it('reads one run of a key that is used all the time', async () => {
    const reader = testPool(1)
    const schema = await usedSchema(reader)
    await reader.query(KEYED.replaceAll('$s', schema))
    const engine = createEngine({
      tasks: [note],
      storage: postgresStorage({ connectionString: countedUrl(schema), schema }),
    })
    const options = { debounce: { key: 'key', delay: '1h' } }
    const first = await engine.trigger(note, undefined, options)
    expect((await engine.trigger(note, undefined, options)).id).toBe(first.id)
    await engine.close()
    const read = await entriesRead(reader, { name: schema, schema, index: 'runs_by_key' })
    // Each trigger looks for the last run twice: to lock it, and to push it.
    expect(read).toBeLessThan(10)
  })

  it('does not read past the runs that have left the line once for each trigger, under an old snapshot', async () => {
    const reader = testPool(2)
    const schema = await usedSchema(reader)
    await reader.query(IN_LINE.replaceAll('$s', schema))
    const holder = await reader.connect()
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await holder.query(`SELECT count(*) FROM ${schema}.runs`)
    await reader.query(
      `UPDATE ${schema}.runs SET line = NULL, line_at = NULL, status = 'COMPLETED', ended_at = 1`,
    )
    const engine = createEngine({
      tasks: [note],
      storage: postgresStorage({ connectionString: countedUrl(schema), schema }),
    })
    await engine.ready()
    for (let turn = 0; turn < TURNS; turn++) {
      const runs = await Promise.all(Array.from({ length: AT_ONCE }, () => engine.trigger(note, undefined)))
      await Promise.all(runs.map((run) => run.result()))
    }
    await engine.close()
    const read = await entriesRead(reader, { name: schema, schema, index: 'runs_in_line' })
    await holder.query('ROLLBACK')
    holder.release()
    expect(read).toBeLessThan((HISTORY * TURNS * AT_ONCE) / 2)
  })
})
