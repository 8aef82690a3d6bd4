import type { RunRecord, TokenRecord } from '../contract/records.ts'
import type {
  Awaitable,
  ChunkRead,
  ChunksRead,
  Inserted,
  RunAsked,
  RunCountFilter,
  StatusCounts,
  WriterProgress,
} from '../contract/storage.ts'
import type { AskedWait } from '../contract/question-keys.ts'
import { WaitpointError } from '../api/errors.ts'
import type { SendInputOptions } from '../api/input.ts'
import type { LogLine } from '../api/log.ts'
import type { CursorPagePromise } from '../api/cursor-page.ts'
import type {
  ListRunsParams,
  RescheduleOptions,
  RetrievedRun,
  Run,
  RunHandle,
  TriggerOptions,
} from '../api/run.ts'
import { toJson } from '../api/serialize.ts'
import type { ChunkPage, FollowedPart } from '../api/stream-page.ts'
import type { EngineOptions } from '../api/engine-options.ts'
import { type TaskDefinition, TaskRegistry } from '../api/task-definition.ts'
import { STORED_VALUES, type Values } from '../api/values.ts'
import { task } from './ambient/define-task.ts'
import {
  Attempt,
  currentAttempt,
  type EngineNamespaces,
  hasFinished,
  type ReplacedMetadata,
  runInAttempt,
  type SeenMetadata,
} from './attempt/attempt.ts'
import { OTHERS_TOPIC, RUNS_TOPIC } from './changes/publisher.ts'
import type { ChangedRuns, Watcher } from './changes/watchers.ts'
import { createEngineOn, type Engine, kernelOf } from './engine.ts'
import { VersionMismatchError } from './execution/pending-versions.ts'
import { Breath } from './host/breath.ts'
import type { Credentials } from './host/credentials.ts'
import type { EnginePorts, Host } from './host/host.ts'
import type { Kernel } from './kernel.ts'
import type { UnreadInputs } from './namespaces/input-records.ts'
import { COUNTS, INPUTS, RELEASE, RESCHEDULE } from './namespaces/late-calls.ts'
import { newRun } from './namespaces/new-run.ts'
import { listOfRuns } from './namespaces/run-list.ts'
import { storeReplay, storeRun } from './namespaces/replay.ts'
import { type AddedTags, tagRun } from './namespaces/tag-run.ts'
import { TriggeredRun } from './namespaces/triggered-run.ts'
import { type EngineObserver, observedBy, type SeenAttempt } from './observed.ts'
import { followStreams } from './reading/followed-streams.ts'
import type { Reading } from './reading/reading.ts'
import { retrievedRun } from './reading/retrieved-run.ts'
import { nextChange, readRun } from './reading/run-changes.ts'
import { readPages } from './reading/stream-pages.ts'
import type { StreamPlace } from './reading/stream-reader.ts'
import { followRunAlone } from './reading/subscription.ts'
import { streamsTopic } from './streams/channel.ts'
import { PlaceMismatchError } from './waits/key.ts'

export { outsideRuns } from './attempt/attempt.ts'
export { passFor } from './engine.ts'
export { readOverrides } from './host/overrides.ts'
export { LONGEST_TAG } from './namespaces/new-run.ts'
export { answeredBy, completedToken, questionOf, withdrawalOf } from './views/question.ts'
export { metadataOf, sizeOfRun } from './views/run.ts'
export { UnknownAnswerer } from './views/unknown-answerer.ts'
export type { UnreadInputs } from './namespaces/input-records.ts'
export type { MetadataValues, ReplacedMetadata } from './attempt/attempt.ts'
export type { EngineObserver, SeenAttempt, SeenReader, SeenWait } from './observed.ts'

/** The topic of readers that follow all runs. That of a reader of one run is its id. */
export const ALL_RUNS: string = RUNS_TOPIC

/** What stands beside an engine may see of its inside: HTTP, the console, the program and the tools for tests. */
export interface Inside {
  /** Tells the engine from others: its attempts carry the same. */
  readonly kernel: object
  /** Its ports, its name, and whether it is open. */
  readonly host: Pick<
    Host,
    'clock' | 'random' | 'storage' | 'owner' | 'now' | 'made' | 'isClosing' | 'isClosed'
  >
  readonly credentials: Credentials
  readonly tasks: Pick<TaskRegistry, 'ids' | 'definitions' | 'get' | 'queueLimits' | 'queueRates'>
  readonly values: Values
  /** Its namespaces with values as they are stored. Absent: those of the engine are so. */
  readonly stored: EngineNamespaces['stored']
  readonly news: InsideNews
  readonly runs: InsideRuns
  readonly streams: InsideStreams
  /** Opens the engine if need be; refuses when it is closed. */
  open(isReader?: boolean): Awaitable<void>
  /** Asks the storage for code outside of the engine, once that is open. */
  call<T>(serve: () => Awaitable<T>): Promise<T>
  /** Like `call()`, also while the engine closes. */
  read<T>(serve: () => Awaitable<T>): Promise<T>
  /** Emits an `error` event. */
  report(error: unknown): void
  /** Turns of the event loop for much work, each of which lets so many go on. */
  turns(atOnce: number): Turns
  counts(): InsideCounts
}

/** Lets the rest of the process have its turns of the event loop. */
export interface Turns {
  /** Resolves when a piece of work that takes long by itself may be done, on a value of this many characters; `undefined`: at once. */
  next(size?: number): Promise<void> | undefined
}

/** The engine at this moment, beside its `stats()`. */
export interface InsideCounts {
  /** Whether it executes runs at all. */
  readonly executes: boolean
  /** So many runs may hold a slot. */
  readonly slots: number
  readonly freeSlots: number
  /** Readers that follow runs. */
  readonly readers: number
}

/** Changes of runs and tokens: of what the engine knows, and of what the caller has changed in the storage. */
export interface InsideNews {
  /** The runs that changed lately. */
  readonly changedRuns: Pick<ChangedRuns, 'place' | 'since'>
  /** Opens a reader of one run, or of all. */
  watch(topic: string): Watcher
  /** Opens a reader of a run and of its streams. */
  watchStreams(runId: string): Watcher
  /** Opens a reader of lists, which other engines change as well. */
  watchLists(): Watcher
  /** Waits for the next change. A test clock is told. */
  nextChange(topic: string, watcher: Watcher): Promise<void>
  runChanged(runId: string): void
  runEnded(record: RunRecord): void
  tokenSettled(record: TokenRecord): void
}

/** Acts on runs and tokens that have no place on the engine itself. */
export interface InsideRuns {
  /** The attempt of a run that executes here. */
  attempt(runId: string): SeenAttempt | undefined
  /** Resolves when the run executes here, if storage has said that it does. */
  started(runId: string): Promise<void>
  /** Lists runs without their payloads and outputs, which may be large. */
  list(params: ListRunsParams): CursorPagePromise<Run>
  /** A run as users see it, without its payload, output and metadata, which may be large. */
  bare(record: RunRecord): Promise<RetrievedRun>
  /** Moves the start of a delayed run, and answers its record. */
  reschedule(runId: string, options: RescheduleOptions): Promise<RunRecord>
  /** Lets a run go on with the code there is, and answers its record. */
  continueWith(runId: string): Promise<RunRecord>
  /** Changes a run that is read first: one change of each run at a time. */
  inTurn<T>(runId: string, change: () => Promise<T>): Promise<T>
  /** Sends a message to a run. Its value is as it is stored. */
  sendInput(
    runId: string,
    sent: { readonly stream: string; readonly data: unknown; readonly options?: SendInputOptions },
  ): Promise<void>
  /** The messages that a run has not read. */
  unreadInputs(asked: RunAsked): Awaitable<readonly UnreadInputs[]>
  /** The metadata that the task has. */
  metadata(attempt: SeenAttempt): SeenMetadata
  /** Changes them as the task itself would, at once. False: the attempt was ended from outside meanwhile. */
  replaceMetadata(attempt: SeenAttempt, change: () => ReplacedMetadata): Promise<boolean>
  addTags(
    runId: string,
    tags: { readonly added: string | readonly string[]; readonly most: number },
  ): Promise<AddedTags>
  /** Counts runs by status, looking at so many of each. */
  count(filter: RunCountFilter, atMost: number): Promise<StatusCounts<string>>
  /** The last lines that a run has logged here. */
  log(runId: string): readonly LogLine[]
  /** Stores a run of a task whose code is elsewhere, in the queue that is named or in that of the task. */
  trigger(
    taskId: string,
    run: {
      readonly payload: unknown
      readonly options: TriggerOptions
      readonly queue: string | undefined
    },
  ): Promise<Inserted<RunRecord>>
  /**
   * Stores a run with the payload of another one, or with its own, for an engine that knows its task. With `once` it is one run,
   * however often that is asked for.
   */
  replay(runId: string, like?: { readonly payload?: unknown; readonly once?: string }): Promise<RunRecord>
  /**
   * Leaves the attempt of a parked run, which is told nothing any more, as if its process were gone; answers its record.
   * `undefined`: the run is not parked here.
   */
  abandon(runId: string): RunRecord | undefined
  /** Asks the storage for runs to execute. */
  claim(): void
  /** The handle of a run that an engine before this one has triggered. */
  handle<Output>(inserted: Inserted<RunRecord>): RunHandle<Output>
}

/** Streams of runs, for readers and writers outside of them. */
export interface InsideStreams {
  /** Lists a key on the run of an attempt. */
  announce(attempt: SeenAttempt, key: string): Awaitable<void>
  write(
    stream: { readonly attempt: SeenAttempt; readonly key: string },
    chunks: readonly unknown[],
    progress?: WriterProgress,
  ): Awaitable<void>
  read(request: ChunkRead, isOver: boolean): Promise<ChunksRead | undefined>
  /** One stream, page by page as it is written. */
  pages(place: StreamPlace): Reading<ChunkPage>
  /** A run as it changes, with its streams from these positions on, or alone. */
  follow(runId: string, from: ReadonlyMap<string, number> | undefined): Reading<FollowedPart>
}

/** The inner door of an engine. @throws TypeError for what `createEngine()` has not made. */
export function inside(engine: Engine): Inside {
  const kernel = kernelOf(engine)
  const { host, credentials, tasks, values, namespaces } = kernel
  return {
    kernel,
    host,
    credentials,
    tasks,
    values,
    stored: namespaces.stored,
    news: newsOf(kernel),
    runs: runsOf(kernel),
    streams: streamsOf(kernel),
    open: (isReader) => kernel.open(isReader),
    call: (serve) => kernel.call(serve),
    read: (serve) => kernel.read(serve),
    report: (error) => kernel.events.error(error),
    turns: (atOnce) => {
      const breath = new Breath(host, atOnce)
      return { next: (size = 0) => kernel.portions.take(size) ?? breath.next() }
    },
    counts: () => ({
      executes: kernel.claimer.executes,
      slots: kernel.slots.concurrency,
      freeSlots: kernel.slots.room,
      readers: kernel.watchers.size,
    }),
  }
}

function newsOf(kernel: Kernel): InsideNews {
  const { publisher, watchers } = kernel
  return {
    changedRuns: publisher.changedRuns,
    watch: (topic) => watchers.watch(topic),
    watchStreams: (runId) => watchers.watchStreams(runId, streamsTopic(runId)),
    watchLists: () => watchers.watch(RUNS_TOPIC, OTHERS_TOPIC),
    nextChange: (topic, watcher) => nextChange(kernel, topic, watcher),
    runChanged: (runId) => publisher.wake(runId),
    runEnded: (record) => publisher.elsewhere(record),
    tokenSettled: (record) => publisher.token(record),
  }
}

function runsOf(kernel: Kernel): InsideRuns {
  return {
    attempt: (runId) => kernel.executor.attempts.get(runId),
    started: (runId) => kernel.claimer.answered(runId),
    list: (params) => listOfRuns(kernel, { params, values: STORED_VALUES, isBare: true }),
    bare: ({ payloadJson: _payload, outputJson: _output, metadataJson: _metadata, ...record }) =>
      retrievedRun(kernel, record),
    reschedule: async (runId, options) =>
      RESCHEDULE.use(({ rescheduleRun }) => rescheduleRun(kernel, runId, options)),
    continueWith: async (runId) => RELEASE.use(({ continueRun }) => continueRun(kernel, runId)),
    inTurn: (runId, change) => kernel.runTurns.take(runId, change),
    metadata: (attempt) => runInAttempt(ownAttempt(attempt), () => kernel.namespaces.metadata.seen()),
    replaceMetadata: (attempt, change) => replaceMetadata(kernel, ownAttempt(attempt), change),
    sendInput: (run, { stream, data, options = {} }) =>
      (kernel.namespaces.stored ?? kernel.namespaces).inputs.send({ id: stream }, { run, data, options }),
    unreadInputs: (asked) => INPUTS.use((late) => late.unreadInputs(asked)),
    addTags: (runId, tags) => tagRun(kernel, runId, tags),
    count: (filter, atMost) =>
      kernel.read(() => COUNTS.use(({ COUNT_RUNS }) => kernel.asked(COUNT_RUNS, { filter, atMost }))),
    log: (runId) => kernel.logs.ofRun(runId),
    trigger: (taskId, { payload, options, queue }) => {
      const definition = standIn(taskId, queue)
      return storeRun(kernel, () => newRun(kernel, definition, { payload, options, context: {} }))
    },
    async replay(runId, like) {
      const original = await readRun(kernel, runId)
      const payload = like &&
        'payload' in like && { payloadJson: toJson(like.payload, 'the payload of run', runId) }
      return (await storeReplay(kernel, { ...original, ...payload }, like?.once)).record
    },
    abandon: (runId) => abandon(kernel, runId),
    claim: () => kernel.claimer.poke(),
    handle: (inserted) => new TriggeredRun(kernel, inserted),
  }
}

/** A task whose code is elsewhere. */
function standIn(id: string, queue: string | undefined): TaskDefinition {
  const run = (): never => {
    throw new Error('this engine executes no runs')
  }
  const outside = task({ id, run, ...(queue === undefined ? {} : { queue: { name: queue } }) })
  return new TaskRegistry([outside]).require(id)
}

function replaceMetadata(
  { namespaces: { metadata } }: Kernel,
  attempt: Attempt,
  change: () => ReplacedMetadata,
): Promise<boolean> {
  return runInAttempt(attempt, async () => {
    metadata.replace(change())
    try {
      await metadata.flush()
      // One that finishes meanwhile stores it, too.
      return !attempt.isEnded || hasFinished(attempt)
    } catch (error) {
      if (!(error instanceof WaitpointError)) throw error
      return false
    }
  })
}

function abandon({ executor, waitpoints }: Kernel, runId: string): RunRecord | undefined {
  const attempt = executor.attempts.get(runId)
  if (attempt?.is('parked') !== true) return undefined
  const { streams, record } = attempt
  waitpoints.leave(attempt)
  attempt.finish()
  attempt.letGo()
  // Its sources are told, as a connection that breaks would be.
  void Promise.resolve(streams?.stop()).catch(() => undefined)
  return record
}

function streamsOf(kernel: Kernel): InsideStreams {
  return {
    announce: (attempt, key) => kernel.streams.announce(ownAttempt(attempt), key),
    write: ({ attempt, key }, chunks, progress) =>
      kernel.streams.write({ attempt: ownAttempt(attempt), key }, chunks, progress),
    read: (request, isOver) =>
      kernel.read(() => kernel.streams.read(request, { isOver, attempt: undefined })),
    pages: (place) => readPages(kernel, place),
    follow: (runId, from) =>
      from === undefined ? followRunAlone(kernel, runId) : followStreams(kernel, runId, from),
  }
}

function ownAttempt(attempt: SeenAttempt): Attempt {
  if (attempt instanceof Attempt) return attempt
  throw new TypeError(`Cannot use the attempt of run "${attempt.id}": no engine has made it`)
}

/** Creates an engine on given ports, which tells an observer what it does. */
export function createObservedEngine(
  ports: EnginePorts,
  options: EngineOptions,
  observer: EngineObserver = {},
): Engine {
  return observedBy(observer, (classOf) => createEngineOn(ports, options, classOf))
}

/** The attempt that the caller runs in, if any. */
export function callingAttempt(): SeenAttempt | undefined {
  return currentAttempt()
}

/** Why a run stands still, as its `error` event tells: it is of another version, or asks something else than before. */
export function mismatchOf(
  error: unknown,
): 'version' | { readonly asked: AskedWait; readonly expectedKey: string } | undefined {
  if (error instanceof VersionMismatchError) return 'version'
  return error instanceof PlaceMismatchError ? error : undefined
}
