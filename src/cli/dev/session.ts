import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { relative, resolve } from 'node:path'
import type { Clock } from '../../contract/clock.ts'
import { typescriptOptions } from '../loading/typescript.ts'
import type { FromWorker, ToWorker, WorkerOptions } from './messages.ts'
import { TypeCheck, type TypeProblem } from './type-check.ts'
import { WatchedFiles } from './watched-files.ts'

/** An engine that has to end and does not is killed after so long: its runs are executed again. */
const PATIENCE_MS = 10_000

/** What happens while tasks are developed. */
export type DevEvent =
  | Extract<FromWorker, { readonly kind: 'ready' | 'run' | 'triggered' | 'remark' | 'error' | 'failed' }>
  | { readonly kind: 'changed'; readonly path: string }
  /** Type errors of files that were loaded, after a change; none: those of before are mended. */
  | { readonly kind: 'types'; readonly problems: readonly TypeProblem[] }

/** One process that executes runs after another: a new one each time a file has changed. */
export class DevSession {
  readonly #clock: Clock
  readonly #options: WorkerOptions
  readonly #tell: (event: DevEvent) => void
  readonly #types: TypeCheck
  #worker: Worker | undefined
  #hasChanged = false
  #hasTypeProblems = false
  #port: number
  /** What was said of the configuration: it is said once, and not again after each change. */
  readonly #remarks = new Set<string>()
  /** Steps follow each other. */
  #step: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(clock: Clock, options: WorkerOptions, tell: (event: DevEvent) => void) {
    this.#clock = clock
    this.#options = options
    this.#tell = tell
    this.#port = options.port
    this.#types = new TypeCheck(resolve(''), resolve(`${options.database}.types.json`), (problems) =>
      this.#hearTypes(problems),
    )
  }

  start(): void {
    this.#worker = new Worker(this.#clock, { ...this.#options, port: this.#port }, (message) =>
      this.#hear(message),
    )
  }

  /** Starts a run of a task. Without a process that executes runs it does nothing. */
  trigger(task: string): void {
    this.#worker?.trigger(task)
  }

  /** Lets the engine end: its runs are there for the next start. */
  close(): Promise<void> {
    this.#isClosed = true
    this.#types.close()
    this.#step = this.#step.then(() => this.#worker?.close())
    return this.#step
  }

  #hear(event: DevEvent): void {
    if (this.#isClosed && event.kind === 'failed') return
    // Addresses of tokens are to stay as they are.
    if (event.kind === 'ready') this.#port = Number(new URL(event.url).port)
    if (event.kind === 'remark') {
      if (this.#remarks.has(event.message)) return
      this.#remarks.add(event.message)
    }
    this.#tell(event.kind === 'changed' ? { ...event, path: relative('', event.path) } : event)
    // Types are checked when the new code is there: nothing waits for them.
    if (this.#hasChanged && (event.kind === 'ready' || event.kind === 'failed')) this.#types.begin()
    if (event.kind !== 'changed') return
    this.#hasChanged = true
    this.#step = this.#step.then(async () => {
      await this.#worker?.close()
      if (!this.#isClosed) this.start()
    })
  }

  #hearTypes(found: readonly TypeProblem[]): void {
    const problems = found
      .filter(({ path }) => this.#worker?.hasLoaded(path))
      .map((problem) => ({ ...problem, path: relative('', problem.path) }))
    if (problems.length > 0 || this.#hasTypeProblems) this.#tell({ kind: 'types', problems })
    this.#hasTypeProblems = problems.length > 0
  }
}

/** One process that executes runs, and the files that it depends on. */
class Worker {
  readonly #clock: Clock
  readonly #child: ChildProcess
  readonly #files: WatchedFiles
  readonly #exit: Promise<unknown>
  #hasFailed = false
  #isClosing = false

  constructor(clock: Clock, options: WorkerOptions, tell: (event: DevEvent) => void) {
    this.#clock = clock
    this.#files = new WatchedFiles(clock, (path) => {
      if (!this.#isClosing) tell({ kind: 'changed', path })
    })
    this.#child = fork(process.argv[1] ?? '', ['dev-worker'], {
      execArgv: [...process.execArgv, '--enable-source-maps', ...typescriptOptions(process.cwd())],
      env: { ...process.env, WAITPOINT_DEV_WORKER: '1' },
      // The output of tasks is beside that of the command.
      stdio: ['ignore', 2, 2, 'ipc'],
    })
    this.#exit = once(this.#child, 'exit')
    this.#child.on('message', (message: FromWorker) => this.#hear(message, tell))
    this.#child.on('error', (error) => tell({ kind: 'failed', message: error.message }))
    this.#child.on('exit', (code, signal) => {
      if (this.#isClosing || this.#hasFailed) return
      tell({
        kind: 'failed',
        message: `The process of the tasks ended with ${signal ?? `code ${code ?? ''}`}`,
      })
    })
    this.#send({ kind: 'start', options })
  }

  trigger(task: string): void {
    this.#send({ kind: 'trigger', task })
  }

  hasLoaded(path: string): boolean {
    return this.#files.has(path)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#files.close()
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#send({ kind: 'close' })
      const cancel = this.#clock.setTimer(this.#clock.now() + PATIENCE_MS, () => this.#child.kill('SIGKILL'))
      await this.#exit
      cancel()
    }
  }

  #hear(message: FromWorker, tell: (event: DevEvent) => void): void {
    if (message.kind === 'files') this.#files.addFiles(message.paths)
    else if (message.kind === 'folders') this.#files.addFolders(message.paths, message.ignored)
    else if (!this.#isClosing || message.kind === 'run') {
      this.#hasFailed ||= message.kind === 'failed'
      tell(message)
    }
  }

  #send(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }
}
