import { describe, expect, it } from 'vitest'
import { createEngine, runs, task } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { rejection } from '../support/body-task.ts'
import { connectPostgres } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'

const TIMEOUT = { statementTimeoutMs: 1_000 }

describe('statementTimeoutMs', () => {
  it('ends a call that takes longer, with an error that says so', async () => {
    await using fresh = new FreshSchema()
    const { connectionString, schema } = fresh
    const storage = postgresStorage({ connectionString, schema, ...TIMEOUT })
    await storage.open()
    await using other = await connectPostgres()
    await other.query(`BEGIN; LOCK TABLE ${schema}.runs`)
    const error = await rejection(Promise.resolve(storage.runs.list({}, { limit: 1 })))
    expect(error).toMatchObject({
      code: 'ERR_STORAGE_UNAVAILABLE',
      mayBeDone: false,
      message: expect.stringMatching(/statement timeout; .*raise `statementTimeoutMs`/) as string,
      cause: { code: '57014' },
    })
    await other.query('COMMIT')
    await storage.leave({ owner: 'me', now: 1 })
  })

  it('lets the call of a run wait and be made again', async () => {
    await using fresh = new FreshSchema()
    const { connectionString, schema } = fresh
    await using other = await connectPostgres()
    const look = task({
      id: 'look',
      run: async () => {
        await other.query(`BEGIN; LOCK TABLE ${schema}.runs`)
        return (await runs.list({ status: 'EXECUTING' })).data.length
      },
    })
    const storage = postgresStorage({ connectionString, schema, ...TIMEOUT })
    await using engine = createEngine({ tasks: [look], storage, leaseMs: 3_600_000 })
    const errors: unknown[] = []
    const isTold = new Promise<void>((resolve) => {
      engine.on('error', ({ error }) => {
        errors.push(error)
        resolve()
      })
    })
    const run = await engine.trigger(look, undefined)
    await isTold
    await other.query('COMMIT')
    expect(await run.result()).toBe(1)
    expect(String(errors[0])).toContain('statement timeout')
  })

  it('does not end a migration', async () => {
    await using fresh = new FreshSchema()
    const { connectionString, schema } = fresh
    await using other = await connectPostgres()
    const role = `hasty_${process.pid}`
    await other.query(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'secret'`)
    await other.query(`ALTER ROLE ${role} SET statement_timeout = 1000`)
    const url = new URL(connectionString)
    url.username = role
    url.password = 'secret'
    try {
      // Makes one statement of the migration take longer.
      await other.query(`CREATE FUNCTION ${role}() RETURNS event_trigger LANGUAGE plpgsql AS $$
        BEGIN IF current_user = '${role}' THEN PERFORM pg_sleep(1.2); END IF; END $$;
        CREATE EVENT TRIGGER ${role} ON ddl_command_end WHEN TAG IN ('CREATE SEQUENCE') EXECUTE FUNCTION ${role}()`)
      const storage = postgresStorage({ connectionString: String(url), schema, listen: false })
      await storage.open()
      await storage.leave({ owner: 'me', now: 1 })
    } finally {
      await other.query(`DROP EVENT TRIGGER IF EXISTS ${role}; DROP FUNCTION IF EXISTS ${role}();
        DROP SCHEMA IF EXISTS ${schema} CASCADE; DROP ROLE ${role}`)
    }
  })
})
