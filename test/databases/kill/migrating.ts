/*
 * A process that brings a database to a later version: `migrating <database>`. It announces the beginning and the end of the
 * step, and lives until it is killed.
 */
import { SqliteDatabase } from '../../../src/storage/sqlite/database.ts'
import { bindingOf } from '../../../src/storage/sqlite/handle.ts'
import { migrateSqlite } from '../../../src/storage/sqlite/schema.ts'
import { openDriver } from '../drivers.ts'
import { LATER_SQLITE } from '../later-step.ts'
import { announcing } from './phases.ts'

const [path = ''] = process.argv.slice(2)
const handle = announcing(openDriver(path), 'migration')
migrateSqlite(new SqliteDatabase(handle, bindingOf(handle)), LATER_SQLITE)
// The process that started this one ends it, if only by its own end.
process.stdin.on('end', () => process.exit(1)).resume()
