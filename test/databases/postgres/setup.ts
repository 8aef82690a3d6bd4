import { startPostgres } from './server.ts'

/**
 * Before any of the tests on Postgres: one server for the whole run of the tests, that whoever asks finds in
 * `WAITPOINT_POSTGRES_URL`. If one is named there already, it is that one.
 */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env['WAITPOINT_POSTGRES_URL'] !== undefined) return undefined
  const server = await startPostgres()
  process.env['WAITPOINT_POSTGRES_URL'] = server.url
  return async () => {
    delete process.env['WAITPOINT_POSTGRES_URL']
    await server[Symbol.asyncDispose]()
  }
}
