/** As much of `pg` as documents use; applications have these types from `@types/pg`. */
declare module 'pg' {
  interface Result<Row> {
    readonly rows: Row[]
  }
  interface Notification {
    readonly channel: string
    readonly payload?: string | undefined
  }
  interface PoolClient {
    query<Row = unknown>(text: string, values?: readonly unknown[]): Promise<Result<Row>>
    on(event: string, listener: (message: Notification) => void): this
    removeListener(event: string, listener: (message: Notification) => void): this
    release(destroy?: boolean): void
  }
  interface PoolOptions {
    readonly connectionString: string
    readonly max?: number
    readonly connectionTimeoutMillis?: number
    readonly query_timeout?: number
  }
  export class Pool {
    constructor(options: PoolOptions)
    query<Row = unknown>(text: string, values?: readonly unknown[]): Promise<Result<Row>>
    connect(): Promise<PoolClient>
    on(event: 'error', listener: (error: Error) => void): this
    end(): Promise<void>
  }
}
