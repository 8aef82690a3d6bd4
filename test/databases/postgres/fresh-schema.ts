import { onTestFinished } from 'vitest'
import { connectPostgres, postgresUrl } from './client.ts'
import { type Place, writePlace } from './place.ts'

/** A schema of a test's own, not made yet; it is gone when it is disposed of. */
export class FreshSchema implements Place, AsyncDisposable {
  static #count = 0
  readonly connectionString: string
  readonly schema: string

  constructor(url: string = postgresUrl()) {
    this.connectionString = url
    this.schema = `fresh_${process.pid}_${(FreshSchema.#count += 1)}`
  }

  /** As an argument of a program; `url` for another way to the same server. */
  place(url: string = this.connectionString, listenCheckMs?: number): string {
    const place = { connectionString: url, schema: this.schema }
    return writePlace(listenCheckMs === undefined ? place : { ...place, listenCheckMs })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using client = await connectPostgres(this.connectionString)
    await client.query(`DROP SCHEMA IF EXISTS "${this.schema}" CASCADE`)
  }
}

/** The name of a schema of the test's own, which is gone when the test has finished. */
export function schemaOfTest(): string {
  const schema = new FreshSchema()
  onTestFinished(() => schema[Symbol.asyncDispose]())
  return schema.schema
}
