import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
}

/** What is committed survives a killed server, not a power cut: enough for tests, and three times as fast. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
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
  const options = Object.entries({ ...SETTINGS, ...settings, port: String(port) })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
  const keeper = new Keeper(place, options)
  await keeper.ready()
  return {
    port,
    url: `postgres://waitpoint:${password}@127.0.0.1:${port}/postgres`,
    restart: (mode) => keeper.restart(mode),
    [Symbol.asyncDispose]: () => keeper.end(),
  }
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
  execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, folder])
  return { programs: root === undefined ? programs : join(copy, 'bin'), folder, account }
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

  async restart(mode: string): Promise<void> {
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
