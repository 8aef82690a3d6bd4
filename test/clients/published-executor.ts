import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

const FILES = 'test/adapters/sdk/files'
const FOLDER = 'test/clients/.task-files'

/** Named by variables: what is installed for this folder only, other checks do without. */
const CORE = '@trigger.dev/core/v3'
const WORKERS = '@trigger.dev/core/v3/workers'

type Exports = Readonly<Record<string, unknown>>

/** How the attempts of a task ended. */
export interface Ended {
  readonly attempts: number
  readonly output?: unknown
  readonly name?: string
  readonly message?: string
}

interface TaskParts {
  readonly id: string
  readonly retry?: object
}

interface Result {
  readonly ok: boolean
  readonly output?: string
  readonly outputType?: string
  readonly error?: { readonly name?: string; readonly message?: string; readonly raw?: string }
  readonly retry?: { readonly delay: number }
}

interface Executor {
  execute(execution: object, ctx: object, signal: AbortSignal): Promise<{ readonly result: Result }>
}

interface Core {
  readonly resourceCatalog: {
    setGlobalResourceCatalog(catalog: object): boolean
    setCurrentFileContext(path: string, entry: string): void
    getTask(id: string): TaskParts | undefined
    listTaskManifests(): readonly { readonly id: string }[]
  }
  readonly apiClientManager: object
  readonly logger: { setGlobalTaskLogger(logger: object): boolean }
  readonly taskContext: { setGlobalTaskContext(context: object): boolean; disable(): void }
  readonly lifecycleHooks: { setGlobalLifecycleHooksManager(manager: object): boolean }
  readonly localsAPI: { setGlobalLocalsManager(manager: object): boolean }
  readonly runMetadata: { setGlobalManager(manager: object): boolean }
  readonly waitUntil: { setGlobalManager(manager: object): boolean }
  parsePacket(packet: { data?: string; dataType: string }): Promise<unknown>
  stringifyIO(value: unknown): Promise<{ data?: string; dataType: string }>
}

/** The metadata of the run that is executed. */
interface Metadata {
  runId: string
  runIdIsRoot: boolean
  reset(): void
}

interface Workers {
  readonly TaskExecutor: new (task: TaskParts, options: object) => Executor
  readonly StandardResourceCatalog: new () => object
  readonly StandardLifecycleHooksManager: new () => object
  readonly StandardLocalsManager: new () => object
  readonly StandardMetadataManager: new () => Metadata
  readonly StandardWaitUntilManager: new () => object
}

/** Copies the task files to where the published SDK is found, and once more with their import pointed at this package. */
export function copyTaskFiles(): void {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  cpSync(FILES, `${FOLDER}/published`, { recursive: true })
  cpSync(FILES, `${FOLDER}/ours`, { recursive: true })
}

/** Removes the copies. */
export function removeTaskFiles(): void {
  rmSync(FOLDER, { recursive: true, force: true })
}

/** One of the task files, executed by this package. */
export async function ourFile(name: string): Promise<Exports> {
  const path = `${FOLDER}/ours/${name}.ts`
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace(/'@trigger\.dev\/sdk(\/v3)?'/, "'waitpoint/sdk'"))
  return (await import(resolve(path))) as Exports
}

/** Task files in the published SDK, and the executor of its workers. */
export class PublishedExecutor {
  readonly #core: Core
  readonly #workers: Workers
  readonly #metadata: Metadata
  #hasAsked = false

  private constructor(core: Core, workers: Workers, metadata: Metadata) {
    this.#core = core
    this.#workers = workers
    this.#metadata = metadata
  }

  static async create(): Promise<PublishedExecutor> {
    const core = (await import(CORE)) as Core
    const workers = (await import(WORKERS)) as Workers
    core.resourceCatalog.setGlobalResourceCatalog(new workers.StandardResourceCatalog())
    core.localsAPI.setGlobalLocalsManager(new workers.StandardLocalsManager())
    core.waitUntil.setGlobalManager(new workers.StandardWaitUntilManager())
    core.lifecycleHooks.setGlobalLifecycleHooksManager(new workers.StandardLifecycleHooksManager())
    const metadata = new workers.StandardMetadataManager()
    core.runMetadata.setGlobalManager(metadata)
    core.logger.setGlobalTaskLogger(quietLogger)
    const executor = new PublishedExecutor(core, workers, metadata)
    executor.#refuseService(core.apiClientManager)
    return executor
  }

  async file(name: string): Promise<Exports> {
    const path = resolve(`${FOLDER}/published/${name}.ts`)
    return this.load(path, async () => (await import(path)) as Exports)
  }

  /** Imports a file, so that its tasks are known. */
  async load<Loaded>(path: string, importing: () => Promise<Loaded>): Promise<Loaded> {
    this.#core.resourceCatalog.setCurrentFileContext(path, path)
    return importing()
  }

  /** The tasks of all files. */
  taskIds(): readonly string[] {
    return this.#core.resourceCatalog.listTaskManifests().map(({ id }) => id)
  }

  /** Whether the run that was executed last has asked the service, which is not there. */
  get hasAsked(): boolean {
    return this.#hasAsked
  }

  #refuseService(client: object): void {
    const refuse = (): never => {
      this.#hasAsked = true
      throw new Error('there is no service')
    }
    Object.defineProperty(client, 'clientOrThrow', { value: refuse })
  }

  /** All attempts of a run, without the time between them. */
  async execute(id: string, payload: unknown): Promise<Ended> {
    const task = this.#core.resourceCatalog.getTask(id)
    if (task === undefined) throw new Error(`the published SDK knows no task "${id}"`)
    this.#hasAsked = false
    this.#metadata.reset()
    Object.assign(this.#metadata, { runId: 'run_1', runIdIsRoot: true })
    for (let attempt = 1; ; attempt += 1) {
      const result = await this.#attempt(task, payload, attempt)
      if (result.ok) {
        const packet = { dataType: result.outputType ?? 'application/json' }
        const data = result.output === undefined ? {} : { data: result.output }
        return { attempts: attempt, output: await this.#core.parsePacket({ ...packet, ...data }) }
      }
      if (result.retry === undefined) return { attempts: attempt, ...told(result.error) }
    }
  }

  async #attempt(task: TaskParts, payload: unknown, number: number): Promise<Result> {
    const executor = new this.#workers.TaskExecutor(task, {
      tracer: { startActiveSpan: (_name: string, work: (span: object) => unknown) => work(span) },
      tracingSDK: {},
      consoleInterceptor: { intercept: (_console: unknown, work: () => unknown) => work() },
      retries: undefined,
      isWarmStart: false,
      executionCount: 0,
    })
    const { data, dataType } = await this.#core.stringifyIO(payload)
    const at = new Date(0)
    const local = { id: 'local', slug: 'local', name: 'local', ref: 'local' }
    const run = { id: 'run_1', tags: [], isTest: false, createdAt: at, startedAt: at }
    const ctx = {
      attempt: { number, startedAt: at },
      run,
      task: { id: task.id, filePath: '' },
      queue: { id: 'queue', name: `task/${task.id}` },
      environment: { ...local, type: 'PRODUCTION' },
      organization: local,
      project: local,
      machine: { name: 'small-2x', cpu: 1, memory: 1, centsPerMs: 0 },
    }
    // A function of the SDK asks here whether it is within a run.
    this.#core.taskContext.disable()
    this.#core.taskContext.setGlobalTaskContext({
      ctx,
      worker: { id: 'worker', version: '1', contentHash: '' },
    })
    const execution = { ...ctx, run: { ...run, metadata: {}, payload: data, payloadType: dataType } }
    const { result } = await executor.execute(execution, ctx, new AbortController().signal)
    return result
  }
}

function told({ name, message, raw }: NonNullable<Result['error']> = {}): Omit<Ended, 'attempts'> {
  return { message: message ?? raw ?? '', ...(name === undefined ? {} : { name }) }
}

const span = {
  setAttribute: () => span,
  setAttributes: () => span,
  setStatus: () => span,
  addEvent: () => span,
  recordException: () => undefined,
  end: () => undefined,
}

const ignore = (): void => undefined

/** Without a line, and with spans that record nothing. */
const quietLogger = {
  debug: ignore,
  log: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  trace: (_name: string, work: (traced: object) => unknown) => work(span),
  startSpan: () => span,
}
