import { currentAttempt, endedReader, endError, type EngineNamespaces } from '../attempt/attempt.ts'
import {
  currentEngine,
  askEngine,
  findEngine,
  findStored,
  type FindEngine,
  lateOnEngine,
  listOnEngine,
  waitOnEngine,
} from './current-engine.ts'
import type { AccessGrant, AccessTokenOptions } from '../../api/access.ts'
import type {
  AnyTask,
  ForwardedTask,
  RunReference,
  TaskRunsNamespace,
  TasksNamespace,
  TriggerOptions,
} from '../../api/run.ts'
import type { QueueHandle, RetrievedQueue } from '../../api/queue.ts'
import type { SchedulesNamespace } from '../../api/schedule.ts'
import type { EngineStreamsNamespace } from '../../api/input.ts'
import type { InputCalls } from '../../api/input-calls.ts'
import type { MetadataNamespace, ReadStreamOptions } from '../../api/stream.ts'
import { STORED } from '../../api/noted-value.ts'
import type { PollsAs } from '../../api/shown-run.ts'
import { CALLER } from '../../api/run-place.ts'
import { defineInput } from '../namespaces/define-input.ts'
import { defineStream } from '../namespaces/define-stream.ts'
import { EngineQueue } from '../namespaces/queue-handle.ts'
import type { Namespaces } from '../../api/task.ts'
import type { CreateTokenOptions, TokenReference, LinkingWaitNamespace } from '../../api/token.ts'

/**
 * Tokens and waits of the engine of the current run, or of the default engine; see docs/waitpoints.md. As in all of
 * the module's namespaces, functions that answer a promise reject with `ERR_NO_ENGINE` where there is neither, the others throw it.
 */
export const wait: LinkingWaitNamespace = /* @__PURE__ */ withStored(waitOf)

/** Metadata of the current run, and its streams; see docs/streams.md. */
export const metadata: MetadataNamespace = /* @__PURE__ */ metadataOf(findEngine)

/** Runs of the engine of the current run, or of the default engine. */
export const runs: TaskRunsNamespace = /* @__PURE__ */ Object.defineProperty(
  /* @__PURE__ */ withStored(runsOf),
  CALLER,
  {
    value: currentAttempt,
  },
)

/** Tasks by id, on the engine of the current run, or on the default engine. */
export const tasks: TasksNamespace = /* @__PURE__ */ withStored(tasksOf)

/** Streams of the engine of the current run, or of the default engine. */
export const streams: EngineStreamsNamespace = /* @__PURE__ */ streamsOf(findEngine)

/** Schedules of the tasks of the engine of the current run, or of the default engine; see docs/queues-and-schedules.md#schedules. */
export const taskSchedules: SchedulesNamespace = /* @__PURE__ */ {
  list: () => askEngine((engine) => engine.schedules.list()),
  retrieve: (schedule) => askEngine((engine) => engine.schedules.retrieve(schedule)),
  create: (options) => askEngine((engine) => engine.schedules.create(options)),
  update: (schedule, change) => askEngine((engine) => engine.schedules.update(schedule, change)),
  del: (schedule) => askEngine((engine) => engine.schedules.del(schedule)),
  activate: (schedule) => askEngine((engine) => engine.schedules.activate(schedule)),
  deactivate: (schedule) => askEngine((engine) => engine.schedules.deactivate(schedule)),
}

/**
 * A queue of the engine of the current run, or of the default engine; see docs/queues-and-schedules.md.
 *
 * @throws WaitpointError `ERR_NO_ENGINE`; TypeError for a name that cannot be used.
 */
export function namedQueue(name: string): QueueHandle {
  return lateOnEngine(
    (engine) => engine.queue(name),
    (refused) => new EngineQueue(refused, name),
  )
}

/** The queues of the engine of the current run, or of the default engine. Rejects with `ERR_NO_ENGINE` where there is neither. */
export function knownQueues(): Promise<readonly RetrievedQueue[]> {
  return askEngine((engine) => engine.queues())
}

/**
 * An access token of the engine of the current run, or of the default engine, as `engine.createAccessToken` makes it; see
 * docs/in-the-browser.md. Rejects with `ERR_NO_ENGINE` where there is neither.
 */
export function createAccessToken(grant: AccessGrant, options?: AccessTokenOptions): Promise<string> {
  return askEngine((engine) => engine.createAccessToken(grant, options))
}

/** The namespaces that an engine hands to its tasks: they end with the attempt that calls them. */
export function toolsOf(engine: EngineNamespaces): Namespaces {
  const find: FindEngine = () => {
    const attempt = currentAttempt()
    return attempt?.isEnded === true && attempt.kernel.namespaces === engine ? endError(attempt) : engine
  }
  return {
    wait: waitOf(find),
    metadata: metadataOf(find),
    runs: runsOf(find),
    tasks: tasksOf(find),
    streams: streamsOf(find),
  }
}

/** A namespace of the module, with the one whose values are as they are stored hidden in it, for code that knows the notes. */
function withStored<Namespace extends object>(make: (find: FindEngine) => Namespace): Namespace {
  return Object.defineProperty(make(findEngine), STORED, { value: make(findStored) })
}

function waitOf(find: FindEngine): LinkingWaitNamespace {
  return {
    createToken: (options?: CreateTokenOptions) =>
      askEngine((engine) => engine.wait.createToken(options), find),
    forToken: (token, options) => waitOnEngine((engine) => engine.wait.forToken(token, options), find),
    completeToken: (token, output, options) =>
      askEngine((engine) => engine.wait.completeToken(token, output, options), find),
    retrieveToken: (token) => askEngine((engine) => engine.wait.retrieveToken(token), find),
    signal: <Output>(token: TokenReference) => askEngine((engine) => engine.wait.signal<Output>(token), find),
    listTokens: (params) => listOnEngine((engine) => engine.wait.listTokens(params), find),
    for: (options) => askEngine((engine) => engine.wait.for(options), find),
    until: (options) => askEngine((engine) => engine.wait.until(options), find),
  }
}

function metadataOf(find: FindEngine): MetadataNamespace {
  return {
    current: () => currentEngine(find).metadata.current(),
    get: (key) => currentEngine(find).metadata.get(key),
    set: (key, value) => currentEngine(find).metadata.set(key, value),
    del: (key) => currentEngine(find).metadata.del(key),
    increment: (key, by) => currentEngine(find).metadata.increment(key, by),
    decrement: (key, by) => currentEngine(find).metadata.decrement(key, by),
    append: (key, value) => currentEngine(find).metadata.append(key, value),
    flush: () => askEngine((engine) => engine.metadata.flush(), find),
    stream: (key, source, signal) => askEngine((engine) => engine.metadata.stream(key, source, signal), find),
  }
}

function runsOf(find: FindEngine): TaskRunsNamespace & PollsAs {
  return {
    retrieve: <Task extends AnyTask, Reference extends RunReference>(run: Reference) =>
      askEngine((engine) => engine.runs.retrieve<Task, Reference>(run), find),
    list: (params) => listOnEngine((engine) => engine.runs.list(params), find),
    poll: <Task extends AnyTask, Reference extends RunReference>(run: Reference) =>
      askEngine((engine) => engine.runs.poll<Task, Reference>(run), find),
    pollAs: (run, show) => askEngine((engine) => engine.runs.pollAs(run, show), find),
    cancel: (run) => askEngine((engine) => engine.runs.cancel(run), find),
    replay: (run) => askEngine((engine) => engine.runs.replay(run), find),
    addTags: (run, tags) => askEngine((engine) => engine.runs.addTags(run, tags), find),
    resetIdempotencyKey: (taskId, key) =>
      askEngine((engine) => engine.runs.resetIdempotencyKey(taskId, key), find),
    reschedule: (run, options) => askEngine((engine) => engine.runs.reschedule(run, options), find),
    subscribeToRun: <Task extends AnyTask, Reference extends RunReference>(run: Reference) =>
      lateOnEngine(
        (engine) => engine.runs.subscribeToRun<Task, Reference>(run),
        (refused) => ({ ...endedReader(refused), withStreams: () => endedReader(refused) }),
        find,
      ),
  }
}

function tasksOf(find: FindEngine): TasksNamespace {
  return {
    trigger: (id: string, payload?: unknown, options?: TriggerOptions) =>
      askEngine((engine) => engine.tasks.trigger<ForwardedTask>(id, payload, options), find),
    batchTrigger: (id, items) => askEngine((engine) => engine.tasks.batchTrigger(id, items), find),
    triggerAndWait: (id: string, payload?: unknown, options?: TriggerOptions) =>
      waitOnEngine((engine) => engine.tasks.triggerAndWait<ForwardedTask>(id, payload, options), find),
    batchTriggerAndWait: (id, items) =>
      askEngine((engine) => engine.tasks.batchTriggerAndWait(id, items), find),
  }
}

function streamsOf(find: FindEngine): EngineStreamsNamespace {
  const inputs = inputsOf(find)
  const own: EngineStreamsNamespace = {
    // A definition is made before there is an engine: it looks for one when it is used.
    define: (options) => defineStream(own, options),
    input: (options) => defineInput(inputs, options),
    pipe: (key, source, options) => currentEngine(find).streams.pipe(key, source, options),
    append: (key, chunk, options) => askEngine((engine) => engine.streams.append(key, chunk, options), find),
    read: <Chunk>(run: RunReference, key: string, options?: ReadStreamOptions) =>
      lateOnEngine<AsyncIterable<Chunk>>(
        (engine) => engine.streams.read<Chunk>(run, key, options),
        endedReader,
        find,
      ),
  }
  return own
}

function inputsOf(find: FindEngine): InputCalls {
  return {
    send: (input, sent) => askEngine(({ inputs }) => inputs.send(input, sent), find),
    wait: (input, options) => waitOnEngine(({ inputs }) => inputs.wait(input, options), find),
    once: (input, options) => waitOnEngine(({ inputs }) => inputs.once(input, options), find),
    take: (input, options) => askEngine(({ inputs }) => inputs.take(input, options), find),
    peek: (input) => askEngine(({ inputs }) => inputs.peek(input), find),
    on: (input, handler) => currentEngine(find).inputs.on(input, handler),
  }
}

/**
 * Runs an effect once in the life of a run: its JSON result is stored, and a later attempt gets it without running the
 * effect again. At least once if a crash falls between the effect and the record.
 *
 * Rejects with what the effect throws, which is not stored; `ERR_NOT_SERIALIZABLE`; `ERR_NOT_IN_RUN` outside of a run.
 *
 * @example
 * ```ts
 * const { messageId } = await once('mail', () => mail(token.url))
 * ```
 */
export function once<Result>(key: string, effect: () => Result | Promise<Result>): Promise<Result> {
  return askEngine((engine) => engine.once(key, effect))
}
