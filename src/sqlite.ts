export { sqliteStorage } from './storage/sqlite/sqlite.ts'
export type { SqliteHandle, SqliteStatement } from './storage/sqlite/handle.ts'
export type { SqliteOptions } from './storage/sqlite/options.ts'
