import { messageOf } from '../../primitives/message.ts'
import { migratingPostgres, type PostgresMigration } from '../../storage/postgres/migration.ts'
import type { CliCommand } from '../command.ts'
import { EXIT, UnreachableError, UsageError } from '../exit.ts'
import { type Given, quote } from '../given.ts'
import { nameOfPlace, POSTGRES_OPTIONS, type PostgresPlace, readPostgres } from '../reach/place.ts'

/** What becomes of the missing steps. */
type Manner = 'carried out' | 'tried' | 'printed'

/** `waitpoint migrate`. */
export const migrate: CliCommand = {
  name: 'migrate',
  summary: 'bring the schema of a Postgres database up to date, or print the SQL that does',
  options: {
    ...POSTGRES_OPTIONS,
    'dry-run': { says: 'carry the steps out in a transaction that is rolled back' },
    sql: { says: 'print the SQL, for a role with more rights; nothing is changed' },
    role: { value: '<name>', says: 'the role of the app, which is granted its rights' },
  },
  about:
    'The first engine of a new version does the same when it opens. Stop the programs of the old version first.',
  async run(given, terminal) {
    const manner = mannerOf(given)
    const place = requirePostgres(given)
    const { text, ...told } = await migrated(place, (migration) =>
      done(migration, manner, given.option('role')),
    )
    const storage = nameOfPlace(place)
    if (given.has('json')) terminal.printJson({ storage, ...told })
    else if (told.sql !== undefined) terminal.print(told.sql)
    // What `--sql` prints may go to a server as it is.
    else if (manner === 'printed') terminal.note(`${storage}: ${text}`)
    else terminal.print(`${storage}: ${text}`)
    return EXIT.ok
  },
}

interface Migrated {
  readonly from: number
  readonly to: number
  readonly sql?: string
  /** For people. */
  readonly text: string
}

async function done(
  migration: PostgresMigration,
  manner: Manner,
  role: string | undefined,
): Promise<Migrated> {
  const { version: from = 0, known: to } = migration
  if (manner === 'printed' && from < to) return { from, to, sql: await migration.sql(role), text: '' }
  if (from === to && (manner !== 'carried out' || role === undefined))
    return { from, to, text: `its schema is version ${to}, and up to date` }
  const steps = from === 0 ? `version ${to}` : `version ${from} to version ${to}`
  if (manner === 'tried') {
    await migration.tryOut()
    return { from, to, text: `the way to ${steps} was tried, and taken back: it can be gone` }
  }
  await migration.carryOut(role)
  const made = from === 0 ? `its schema was made: ${steps}` : `its schema was brought from ${steps}`
  const granted = role === undefined ? '' : `; role ${quote(role)} has its rights`
  return { from, to, text: `${from === to ? `its schema is version ${to}` : made}${granted}` }
}

async function migrated(
  { url: connectionString, schema }: PostgresPlace,
  work: (migration: PostgresMigration) => Promise<Migrated>,
): Promise<Migrated> {
  try {
    return await migratingPostgres({ connectionString, ...(schema === undefined ? {} : { schema }) }, work)
  } catch (cause) {
    throw new UnreachableError(messageOf(cause), { cause })
  }
}

function mannerOf(given: Given): Manner {
  const [isDryRun, isSql] = [given.has('dry-run'), given.has('sql')]
  if (isDryRun && isSql) throw new UsageError('--dry-run and --sql exclude each other')
  if (given.has('role') && isDryRun) throw new UsageError('--role does not go with --dry-run')
  if (isSql) return 'printed'
  return isDryRun ? 'tried' : 'carried out'
}

function requirePostgres(given: Given): PostgresPlace {
  const place = readPostgres(given)
  if (place === undefined) throw new UsageError('name a database: --postgres <url>')
  return place
}
