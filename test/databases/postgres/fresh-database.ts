import { connectPostgres, postgresUrl } from './client.ts'

/** A database of a test's own. Disposing of it drops it, even if connections to it are still open. */
export async function freshDatabase(): Promise<AsyncDisposable & { readonly url: string }> {
  const name = `test_${process.pid}`
  const url = new URL(postgresUrl())
  url.pathname = name
  const run = async (statement: string): Promise<void> => {
    await using client = await connectPostgres()
    await client.query(statement)
  }
  await run(`CREATE DATABASE ${name}`)
  return { url: String(url), [Symbol.asyncDispose]: () => run(`DROP DATABASE ${name} WITH (FORCE)`) }
}
