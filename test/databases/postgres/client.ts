import { createRequire } from 'node:module'

/** What the tests use of a `pg` client. */
export interface PostgresClient {
  connect(): Promise<void>
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[] }>
  on(event: 'error', listener: (error: Error) => void): this
  on(event: 'notification', listener: (notification: { readonly payload?: string }) => void): this
  end(): Promise<void>
}

interface Driver {
  readonly Client: new (url: string) => PostgresClient
}

/** The driver that is installed beside the tests. */
const { Client } = createRequire(import.meta.url)('pg') as Driver

/** Where the server of this run of the tests is. */
export function postgresUrl(): string {
  const url = process.env['WAITPOINT_POSTGRES_URL']
  if (url === undefined) throw new Error('Cannot reach Postgres: WAITPOINT_POSTGRES_URL names no server')
  return url
}

/** A connection that is closed when it is disposed of. A cut one is an error of the next query, and nothing else. */
export async function connectPostgres(
  url: string = postgresUrl(),
): Promise<PostgresClient & AsyncDisposable> {
  const client = new Client(url)
  client.on('error', () => undefined)
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}
