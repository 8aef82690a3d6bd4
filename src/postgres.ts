export { postgresStorage } from './storage/postgres/postgres.ts'
export type { PostgresOptions } from './storage/postgres/options.ts'
export type {
  PostgresClient,
  PostgresMessage,
  PostgresPool,
  PostgresPoolClient,
  PostgresResult,
} from './storage/postgres/pool.ts'
export type { PostgresSql, PostgresSqlClient } from './storage/postgres/sql-pool.ts'
