import { startPostgres } from './server.ts'
import { slowWire } from './slow-wire.ts'

/**
 * Before any of the tests on Postgres: one server for the whole run of the tests, that whoever asks finds in
 * `WAITPOINT_POSTGRES_URL`. If one is named there already, it is that one. With `WAITPOINT_POSTGRES_LAG_MS` it is reached
 * over a wire that holds up for so long, at most, what is sent over it.
 */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env['WAITPOINT_POSTGRES_URL'] !== undefined) return undefined
  const server = await startPostgres()
  const lagMs = Number(process.env['WAITPOINT_POSTGRES_LAG_MS'] ?? 0)
  process.env['WAITPOINT_POSTGRES_URL'] = lagMs > 0 ? await slowWire(server.url, lagMs) : server.url
  return async () => {
    delete process.env['WAITPOINT_POSTGRES_URL']
    await server[Symbol.asyncDispose]()
  }
}
