import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { freePort } from '../../support/free-port.ts'
import { serverAccount } from './account.ts'
import { serverPrograms } from './programs.ts'

/** A Postgres server on this machine, with data of its own, that is there for one run of the tests. */
export interface PostgresServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** Every connection is cut. `immediate`: as if the server had crashed; what was committed is there again. */
  restart(mode: 'fast' | 'immediate'): Promise<void>
  /** Another one that follows it, and only reads. It is restarted for that. */
  standby(): Promise<PostgresStandby>
}

export interface PostgresStandby extends AsyncDisposable {
  readonly url: string
  /** From now on it follows no other, and writes. */
  promote(): Promise<void>
}

/** What is committed survives a killed server, not a power cut: enough for tests, and three times as fast. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '400',
  fsync: 'off',
  full_page_writes: 'off',
  jit: 'off',
}

/**
 * Starts a server on a free port of the loopback, as a user that is not root. It stops, and its data is gone, when it is
 * disposed of, or when this process ends in any way.
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const port = await freePort()
  const password = randomBytes(12).toString('hex')
  const place = preparePlace(password)
  const keeper = new Keeper(place, optionsOf(port, settings))
  await keeper.ready()
  const url = urlOf(port, password)
  return {
    port,
    url,
    restart: (mode) => keeper.ask(mode),
    async standby() {
      await keeper.ask('copy')
      return startStandby(place, { port, password, settings })
    },
    [Symbol.asyncDispose]: () => keeper.end(),
  }
}

interface Primary {
  readonly port: number
  readonly password: string
  readonly settings: Readonly<Record<string, string>>
}

async function startStandby(
  primary: Place,
  { port: from, password, settings }: Primary,
): Promise<PostgresStandby> {
  const port = await freePort()
  const place = preparePlace(password)
  const data = join(place.folder, 'data')
  renameSync(join(primary.folder, 'copy'), data)
  writeFileSync(join(data, 'standby.signal'), '')
  const follows = `host=127.0.0.1 port=${from} user=waitpoint password=${password}`
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${follows}'\n`)
  giveTo(place)
  const keeper = new Keeper(place, optionsOf(port, settings))
  await keeper.ready()
  return {
    url: urlOf(port, password),
    promote: () => keeper.ask('promote'),
    [Symbol.asyncDispose]: () => keeper.end(),
  }
}

function urlOf(port: number, password: string): string {
  return `postgres://waitpoint:${password}@127.0.0.1:${port}/postgres`
}

function optionsOf(port: number, settings: Readonly<Record<string, string>>): string {
  return Object.entries({ ...SETTINGS, ...settings, port: String(port) })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
}

interface Place {
  readonly programs: string
  readonly folder: string
  readonly account: ReturnType<typeof serverAccount>
}

function preparePlace(password: string): Place {
  const { folder: programs, root } = serverPrograms()
  const account = serverAccount()
  // Not in a folder of the caller's alone: the server is another user.
  const folder = mkdtempSync(join(account === undefined ? tmpdir() : '/tmp', 'waitpoint-postgres-'))
  writeFileSync(join(folder, 'password'), `${password}\n`, { mode: 0o600 })
  if (account === undefined) return { programs, folder, account }
  // Packages may be where only their owner may look.
  const copy = join(folder, 'server')
  if (root !== undefined) cpSync(root, copy, { recursive: true, verbatimSymlinks: true })
  const place = { programs: root === undefined ? programs : join(copy, 'bin'), folder, account }
  giveTo(place)
  return place
}

function giveTo({ folder, account }: Place): void {
  if (account !== undefined) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, folder])
}

/** The shell that starts the server, and stops it when its own input is closed. */
class Keeper {
  readonly #folder: string
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #answers: AsyncIterator<string, unknown>

  constructor({ programs, folder, account }: Place, options: string) {
    this.#folder = folder
    // As text: the file may be where only its owner may look.
    const script = readFileSync('test/databases/postgres/keeper.sh', 'utf8')
    this.#child = spawn('sh', ['-c', script, 'keeper.sh', programs, folder, options], {
      ...account,
      stdio: ['pipe', 'pipe', 'inherit'],
      // Ctrl-C is for this process; the end of the input says when it is time for that one.
      detached: true,
    })
    this.#child.stdin.on('error', () => undefined)
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async ready(): Promise<void> {
    const { value } = await this.#answers.next()
    if (value !== 'ready') throw new Error('Cannot start Postgres: see above what it said')
  }

  async ask(mode: 'fast' | 'immediate' | 'copy' | 'promote'): Promise<void> {
    this.#child.stdin.write(`${mode}\n`)
    await this.ready()
  }

  async end(): Promise<void> {
    if (this.#child.exitCode === null) {
      const exit = once(this.#child, 'exit')
      this.#child.stdin.end()
      await exit
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
