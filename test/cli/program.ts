import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { systemClock } from 'waitpoint'
import { COMMANDS } from '../../src/cli/commands/all.ts'
import type { Terminal } from '../../src/cli/output/terminal.ts'
import { Program } from '../../src/cli/program.ts'

/** What became of a process. */
export interface ProgramEnd {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Calls the program in this process: for arguments, and for apps behind HTTP. */
export async function callProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramEnd> {
  let [out, err] = ['', '']
  const print = (text: string): void => void (out += `${text}\n`)
  const terminal: Terminal = {
    clock: systemClock(),
    env,
    width: 80,
    signal: new AbortController().signal,
    hearKeys: () => false,
    print,
    printJson: (value) => print(JSON.stringify(value)),
    note: (text) => void (err += `${text}\n`),
  }
  const code = await new Program(COMMANDS, '1.2.3').run(args, terminal)
  return { code, out, err }
}

/** A folder with the package installed, built from the sources as it is published. */
export class InstalledPackage implements Disposable {
  readonly folder: string
  readonly #env: Readonly<Record<string, string | undefined>>

  private constructor(folder: string) {
    this.folder = folder
    // Where the drivers of databases are.
    this.#env = { ...process.env, NODE_PATH: resolve('test/databases/node_modules') }
  }

  static async create(): Promise<InstalledPackage> {
    mkdirSync('test/.cli', { recursive: true })
    const folder = mkdtempSync(resolve('test/.cli/package-'))
    const entries = readdirSync('src').filter((name) => name.endsWith('.ts'))
    const settings = {
      bundle: true,
      packages: 'external',
      format: 'esm',
      platform: 'node',
      target: 'node20',
      logLevel: 'silent',
    } as const
    await build({
      ...settings,
      entryPoints: [...entries.map((name) => `src/${name}`), 'src/cli/main.ts'],
      outdir: join(folder, 'node_modules/waitpoint/dist'),
      splitting: true,
    })
    await build({ ...settings, entryPoints: ['test/cli/app.ts'], outfile: join(folder, 'app.mjs') })
    copyFileSync('package.json', join(folder, 'node_modules/waitpoint/package.json'))
    cpSync('template', join(folder, 'node_modules/waitpoint/template'), { recursive: true })
    return new InstalledPackage(folder)
  }

  /** An empty folder below that of the package. */
  project(): string {
    return mkdtempSync(join(this.folder, 'project-'))
  }

  /** Starts `waitpoint`. */
  start(args: readonly string[], cwd: string = this.folder): RunningProgram {
    return this.node([join(this.folder, 'node_modules/waitpoint/dist/cli/main.js'), ...args], cwd)
  }

  /** Starts `waitpoint` on a terminal of its own, for a person who types. */
  startOnTerminal(args: readonly string[], cwd: string): RunningProgram & { type(keys: string): void } {
    const main = join(this.folder, 'node_modules/waitpoint/dist/cli/main.js')
    // Not below a shell: some shells are ended by Ctrl-C themselves, whatever the program makes of it.
    const command = ['exec', process.execPath, main, ...args].join(' ')
    const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      cwd,
      env: this.#env,
      stdio: 'pipe',
    })
    return Object.assign(new RunningProgram(child), { type: (keys: string) => void child.stdin.write(keys) })
  }

  /** Starts `waitpoint` for a user with no rights but those that files give. That is said of root, who has all otherwise. */
  startWithoutRights(args: readonly string[]): RunningProgram {
    const main = join(this.folder, 'node_modules/waitpoint/dist/cli/main.js')
    if (process.getuid?.() !== 0) return this.node([main, ...args])
    const rights = '--bounding-set=-dac_override,-dac_read_search'
    return this.#start('setpriv', [rights, process.execPath, main, ...args])
  }

  /** Starts Node. */
  node(args: readonly string[], cwd: string = this.folder): RunningProgram {
    return this.#start(process.execPath, args, cwd)
  }

  #start(program: string, args: readonly string[], cwd: string = this.folder): RunningProgram {
    const child = spawn(program, args, { cwd, env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] })
    return new RunningProgram(child)
  }

  /** Starts the app of these tests; its address is its first line. */
  async app(database: string, key: string): Promise<RunningProgram & { readonly url: string }> {
    const app = this.node(['app.mjs', database, key])
    const url = (await app.says(/http:\S+/)).trim()
    return Object.assign(app, { url })
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** A process, and what it has said so far. It is killed when it is disposed of. */
export class RunningProgram implements AsyncDisposable {
  readonly ended: Promise<ProgramEnd>
  readonly #child: ChildProcess
  #out = ''
  #err = ''
  #heard: () => void = () => undefined

  constructor(child: ChildProcess) {
    this.#child = child
    child.stdout?.on('data', (data) => {
      this.#out += String(data)
      this.#heard()
    })
    child.stderr?.on('data', (data) => (this.#err += String(data)))
    this.ended = once(child, 'close').then(([code]: unknown[]) => {
      this.#heard()
      return { code: code as number | null, out: this.#out, err: this.#err }
    })
  }

  get out(): string {
    return this.#out
  }

  /** Waits until its output has something that matches, and nothing that must not; answers what matches. */
  async says(pattern: RegExp, never?: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.#out)
      if (found !== null) return found[0]
      const isWrong = never?.test(this.#out) === true
      if (isWrong || this.#child.exitCode !== null || this.#child.signalCode !== null)
        throw new Error(`It ended, or went wrong, without ${String(pattern)}: ${this.#out}${this.#err}`)
      await new Promise<void>((wake) => (this.#heard = wake))
    }
  }

  kill(signal: 'SIGINT' | 'SIGKILL' | 'SIGTERM'): void {
    this.#child.kill(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }
}
