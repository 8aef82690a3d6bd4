import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { applyConfig } from '../../adapters/sdk/config.ts'
import type { AnyTask } from '../../api/run.ts'
import type { RunStatus } from '../../contract/records.ts'
import { loginLink } from '../../console/login-link.ts'
import { createEngine } from '../../core/create-engine.ts'
import type { Engine } from '../../core/engine.ts'
import { inside } from '../../core/inside.ts'
import { type HttpServer, serve } from '../../http/serve.ts'
import { messageOf } from '../../primitives/message.ts'
import { sqliteStorage } from '../../storage/sqlite/sqlite.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { configFileOf, foldersOfConfig, ignoredByConfig, readConfig, remarksOn } from '../loading/config.ts'
import { mapPackages } from '../loading/hooks.ts'
import { EMPTY_NAMES, hostedNames, ownNames } from '../loading/names.ts'
import { foldersAt, taskFilesAt, tasksOf, TESTS, USUAL_FOLDERS } from '../loading/task-files.ts'
import { newestRun } from '../reach/outside-runs.ts'
import { tasksFileOf } from '../reach/place.ts'
import type { FromWorker, ToWorker, WorkerOptions } from './messages.ts'

/**
 * The process that executes the runs of `dev`. It loads the files once; when they change another process takes its place.
 * It ends when it is told so, and when the process that has started it is gone.
 */
export async function devWorker(): Promise<never> {
  const code = await work()
  // Code of tasks may have left something behind that would keep the process alive.
  process.exit(code)
}

async function work(): Promise<ExitCode> {
  // Ctrl-C goes to both processes: the other one closes this one.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
  const { options, closed } = await begun()
  const seen = new Set<string>()
  mapPackages({ ...EMPTY_NAMES, ...hostedNames(), ...ownNames() }, (url) => {
    const path = ownFile(url)
    if (path === undefined || seen.has(path)) return
    seen.add(path)
    void tell({ kind: 'files', paths: [path] })
  })
  try {
    loadEnvironment()
    const tasks = await loadTasks(options)
    const { engine, server } = await open(tasks, options)
    const link = loginLink(engine, `${server.url}/console`)
    process.on('message', (message: ToWorker) => {
      if (message.kind === 'trigger') void triggerAgain(engine, message.task)
    })
    await tell({ kind: 'ready', url: server.url, link, tasks: tasks.map(({ id }) => id) })
    await closed
    await server.close()
    await engine.close()
    return EXIT.ok
  } catch (thrown) {
    await tell({ kind: 'failed', message: messageOf(thrown) })
    return EXIT.failed
  }
}

/** Resolves with what is to be done; `closed` when it is to end. */
function begun(): Promise<{ readonly options: WorkerOptions; readonly closed: Promise<void> }> {
  return new Promise((begin) => {
    const closed = new Promise<void>((close) => {
      process.on('disconnect', close)
      process.on('message', (message: ToWorker) => {
        if (message.kind === 'close') close()
        else if (message.kind === 'start') begin({ options: message.options, closed })
      })
    })
  })
}

/** Resolves when the message is on its way. */
function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => resolve())
    else resolve()
  })
}

/** The file behind an address, unless it belongs to a package. */
function ownFile(url: string): string | undefined {
  if (!url.startsWith('file:')) return undefined
  const path = fileURLToPath(url.replace(/[?#].*$/, ''))
  return path.includes('/node_modules/') || path.includes('\\node_modules\\') ? undefined : path
}

/** Files of variables, as the hosted service reads them: of two values the first counts, and one of the process before all. */
const ENVIRONMENT = ['.env', '.env.development', '.env.local', '.env.development.local', 'dev.vars']

function loadEnvironment(): void {
  const files = ENVIRONMENT.filter((file) => existsSync(file))
  void tell({ kind: 'files', paths: files.map((file) => resolve(file)) })
  // Node has it since 20.12.
  const { loadEnvFile } = process as { readonly loadEnvFile?: (file: string) => void }
  for (const file of files) loadEnvFile?.(file)
}

async function loadTasks({ path }: WorkerOptions): Promise<readonly AnyTask[]> {
  const configFile = configFileOf(path ?? '.', '.')
  let folders: readonly string[] = []
  let ignored = TESTS
  if (configFile !== undefined) {
    void tell({ kind: 'files', paths: [configFile] })
    const config = await readConfig(configFile)
    for (const message of remarksOn(config, configFile)) void tell({ kind: 'remark', message })
    applyConfig(config)
    folders = foldersOfConfig(config, configFile)
    ignored = ignoredByConfig(config, configFile)
  }
  const places = path !== undefined ? [path] : folders.length > 0 ? folders : USUAL_FOLDERS.filter(existsSync)
  if (places.length === 0)
    throw new Error(
      `Cannot find task files: name a file or folder, or have one of ${USUAL_FOLDERS.join(', ')}, or a trigger.config.ts with dirs`,
    )
  void tell({ kind: 'folders', paths: places.flatMap(foldersAt), ignored })
  const files = places.flatMap((place) => taskFilesAt(place, ignored))
  void tell({ kind: 'files', paths: files })
  const { tasks, failures } = await tasksOf(files)
  if (tasks.length === 0 && failures.length > 0) throw failures[0]
  for (const failure of failures) void tell({ kind: 'error', message: messageOf(failure) })
  if (tasks.length === 0)
    throw new Error(`Cannot find a task in ${places.join(', ')}: export what task() returns`)
  return tasks
}

/** Starts a run as the newest one of the task was started; the first one has an empty object. */
async function triggerAgain(engine: Engine, task: string): Promise<void> {
  try {
    const newest = await newestRun(engine, task)
    const { id } =
      newest === undefined ? await engine.tasks.trigger(task, {}) : await engine.runs.replay(newest.id)
    await tell({ kind: 'triggered', id, task, ...(newest !== undefined && { as: newest.id }) })
  } catch (thrown) {
    await tell({ kind: 'error', message: messageOf(thrown) })
  }
}

/** The error of an earlier attempt says nothing of these. */
const GOES_ON: ReadonlySet<RunStatus> = new Set<RunStatus>(['EXECUTING', 'WAITING', 'QUEUED'])

async function open(
  tasks: readonly AnyTask[],
  { database, port, secretKey }: WorkerOptions,
): Promise<{ readonly engine: Engine; readonly server: HttpServer }> {
  mkdirSync(dirname(database), { recursive: true })
  const engine = createEngine({ tasks, storage: sqliteStorage(database), secretKey })
  engine.makeDefault()
  engine.on(
    'run',
    ({ id, taskIdentifier: task, status, error }) =>
      void tell({
        kind: 'run',
        id,
        task,
        status,
        ...(error === undefined || GOES_ON.has(status) ? {} : { error: error.message }),
      }),
  )
  engine.on('error', ({ error }) => void tell({ kind: 'error', message: messageOf(error) }))
  await engine.ready()
  const queues = inside(engine).tasks.definitions.map(({ id, queue }) => [id, queue] as const)
  writeFileSync(tasksFileOf(database), JSON.stringify(Object.fromEntries(queues)))
  return { engine, server: await serve(engine, { port, console: true }) }
}
