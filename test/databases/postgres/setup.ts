import { startPostgres } from './server.ts'
import { Wire } from './wire.ts'

/** How many of the things that are sent over a wire that lags are held up. */
const SHARE = 0.2

/**
 * Starts one server for all tests on Postgres, and names it in `WAITPOINT_POSTGRES_URL`. If a server is named there
 * already, the tests use that one. With `WAITPOINT_POSTGRES_LAG_MS` the server is reached over a wire that delays each
 * message by up to so many milliseconds.
 */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env['WAITPOINT_POSTGRES_URL'] !== undefined) return undefined
  const server = await startPostgres()
  const lagMs = Number(process.env['WAITPOINT_POSTGRES_LAG_MS'] ?? 0)
  const held = (): number => (Math.random() < SHARE ? Math.random() * lagMs : 0)
  const wire = lagMs > 0 ? await Wire.to(server.url, { lagMs: held }) : undefined
  process.env['WAITPOINT_POSTGRES_URL'] = (wire ?? server).url
  return async () => {
    delete process.env['WAITPOINT_POSTGRES_URL']
    await wire?.[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  }
}
