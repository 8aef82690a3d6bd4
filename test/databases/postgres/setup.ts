import { startPostgres } from './server.ts'
import { Wire } from './wire.ts'

/** How many of the things that are sent over a wire that lags are held up. */
const SHARE = 0.2

/**
 * Before any of the tests on Postgres: one server for the whole run of the tests, that whoever asks finds in
 * `WAITPOINT_POSTGRES_URL`. If one is named there already, it is that one. With `WAITPOINT_POSTGRES_LAG_MS` it is reached
 * over a wire that holds up for so long, at most, what is sent over it.
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
