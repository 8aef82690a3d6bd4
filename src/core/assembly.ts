import type { Unsubscribe } from '../contract/storage.ts'
import { chain } from '../primitives/awaitable.ts'
import { AttemptTools } from './execution/task-call.ts'
import { ChangeFeed } from './changes/feed.ts'
import { Credentials } from './host/credentials.ts'
import type { CurrentEngine } from './ambient/current-engine.ts'
import { EventQueue } from './host/engine-events.ts'
import type { EngineSettings } from './engine-options.ts'
import { Executor } from './execution/executor.ts'
import type { Host } from './host/host.ts'
import { Kernel } from './kernel.ts'
import { EngineMetadata } from './namespaces/metadata.ts'
import { OnceEffects } from './namespaces/once.ts'
import { Retention } from './changes/retention.ts'
import { RunJournal } from './changes/run-journal.ts'
import { EngineRuns } from './namespaces/runs.ts'
import { RunStreams } from './streams/registry.ts'
import { viewRun } from './reading/run-view.ts'
import { Slots } from './execution/slots.ts'
import { StorageNews } from './execution/storage-news.ts'
import { EngineStreams } from './namespaces/streams.ts'
import { TaskRegistry } from './attempt/task-definition.ts'
import { EngineTasks } from './namespaces/tasks.ts'
import { Ticker } from './execution/ticker.ts'
import { viewToken } from './namespaces/token-view.ts'
import { reportUnknownTasks } from './execution/unknown-tasks.ts'
import { EngineWait } from './namespaces/wait.ts'
import { staleAttempt, Waitpoints } from './waits/waitpoints.ts'

/** The parts of one engine, put together. They refer to each other; each is told only what it needs. */
export class Assembly {
  readonly host: Host
  readonly tasks: TaskRegistry
  readonly credentials: Credentials
  readonly events: EventQueue
  readonly feed: ChangeFeed = new ChangeFeed()
  readonly waitpoints: Waitpoints
  readonly slots: Slots
  readonly journal: RunJournal
  readonly retention: Retention
  readonly ticker: Ticker
  readonly streams: RunStreams
  readonly executor: Executor
  readonly kernel: Kernel
  readonly #runs: EngineRuns
  readonly current: CurrentEngine
  readonly #news: StorageNews
  #unsubscribe: Unsubscribe | undefined

  constructor(host: Host, settings: EngineSettings, engine: object) {
    this.host = host
    this.tasks = new TaskRegistry(settings.tasks)
    this.credentials = new Credentials(host, settings)
    this.events = new EventQueue({ run: viewRun, token: (record) => viewToken(record, this.credentials) })
    this.waitpoints = this.#makeWaitpoints()
    this.slots = this.#makeSlots(settings)
    this.retention = new Retention(host, this.events, settings.retention)
    const { feed, events, waitpoints } = this
    this.journal = new RunJournal({ feed, events, waitpoints, ended: () => this.retention.ended() })
    this.ticker = this.#makeTicker(settings)
    this.streams = this.#makeStreams(settings)
    this.executor = this.#makeExecutor(settings, engine)
    this.#news = new StorageNews(this)
    this.kernel = new Kernel({
      ...this.#parts(),
      engine,
      start: () => this.#start(),
    })
    this.#runs = new EngineRuns(this.kernel)
    this.current = namespacesOf(this.kernel, this.#runs)
  }

  /** Nothing of the engine's is heard or done any more. */
  disconnect(): void {
    this.ticker.stop()
    this.retention.stop()
    this.#unsubscribe?.()
  }

  #start(): void | Promise<void> {
    this.#subscribe()
    return chain(this.ticker.start(), () => {
      this.retention.start()
      this.executor.poke()
      return reportUnknownTasks(this)
    })
  }

  #subscribe(): void {
    this.#unsubscribe?.()
    this.#unsubscribe = this.host.storage.subscribe(this.host.owner, (hint) => this.#news.hint(hint))
  }

  #parts(): Pick<
    Assembly,
    'host' | 'journal' | 'ticker' | 'waitpoints' | 'executor' | 'streams' | 'tasks' | 'credentials'
  > {
    const { host, journal, ticker, waitpoints, executor, streams, tasks, credentials } = this
    return { host, journal, ticker, waitpoints, executor, streams, tasks, credentials }
  }

  #makeWaitpoints(): Waitpoints {
    return new Waitpoints(this.host, {
      registered: (scope, token) => {
        if (token.timeoutAt !== undefined) this.ticker.expect(token.timeoutAt, `token ${token.id}`)
        this.slots.waitRegistered(scope)
      },
      deliver: (scope, delivery) => this.slots.deliver(scope, delivery),
      settled: (token) => this.journal.token(token),
      refused: (scope) => this.executor.refused(scope),
    })
  }

  #makeSlots({ concurrency }: EngineSettings): Slots {
    const options = { concurrency, queueLimit: (queue: string) => this.tasks.queueLimits.get(queue) }
    return new Slots(this.host, options, {
      changed: (scope, record) => this.executor.slotChanged(scope, record),
      stale: (scope) => this.executor.stale(scope),
      freed: () => this.executor.slotFreed(),
      woken: (tokens) => this.#news.woken(tokens),
      failed: (error, scope) => this.events.error(error, scope.id),
    })
  }

  #makeTicker({ leaseMs }: EngineSettings): Ticker {
    return new Ticker(this.host, leaseMs, {
      ticked: (result, about) => this.#news.ticked(result, about),
      leaseLost: () => {
        this.executor.abortAll(staleAttempt)
        this.host.renameOwner()
        this.#subscribe()
      },
      failed: (error) => this.events.error(error),
    })
  }

  #makeStreams({ historyChunks, historyBytes }: EngineSettings): RunStreams {
    return new RunStreams({
      host: this.host,
      journal: this.journal,
      history: { chunks: historyChunks, bytes: historyBytes },
      stale: (scope) => this.executor.stale(scope),
    })
  }

  #makeExecutor({ maxInterruptions, execute, leaseMs }: EngineSettings, engine: object): Executor {
    return new Executor({
      ...this.#parts(),
      engine,
      maxInterruptions,
      leaseMs,
      execute,
      slots: this.slots,
      tools: (scope) => new AttemptTools(this.current, scope),
      cancelChildren: (runId, tokenIds) => this.#runs.cancelChildren(runId, tokenIds),
    })
  }
}

function namespacesOf(kernel: Kernel, runs: EngineRuns): CurrentEngine {
  const effects = new OnceEffects(kernel)
  return {
    once: (key, effect) => effects.run(key, effect),
    wait: new EngineWait(kernel),
    metadata: new EngineMetadata(kernel),
    runs,
    tasks: new EngineTasks(kernel),
    streams: new EngineStreams(kernel),
  }
}
