import { currentEngine, askEngine, listOnEngine, waitOnEngine } from './current-engine.ts'
import type { RunsNamespace, TasksNamespace } from '../../api/run.ts'
import type { MetadataNamespace, StreamsNamespace } from '../../api/stream.ts'
import { defineStream } from '../namespaces/define-stream.ts'
import type { WaitNamespace } from '../../api/token.ts'

/**
 * Tokens and waits of the engine of the current run, or of the default engine; see docs/waitpoints.md. As in all of
 * the module's namespaces, functions that answer a promise reject with `ERR_NO_ENGINE` where there is neither, the others throw it.
 */
export const wait: WaitNamespace = {
  createToken: (options) => askEngine((engine) => engine.wait.createToken(options)),
  forToken: (token, options) => waitOnEngine((engine) => engine.wait.forToken(token, options)),
  completeToken: (token, output, options) =>
    askEngine((engine) => engine.wait.completeToken(token, output, options)),
  retrieveToken: (token) => askEngine((engine) => engine.wait.retrieveToken(token)),
  listTokens: (params) => listOnEngine((engine) => engine.wait.listTokens(params)),
  for: (options) => askEngine((engine) => engine.wait.for(options)),
  until: (options) => askEngine((engine) => engine.wait.until(options)),
}

/** Metadata of the current run, and its streams; see docs/streams.md. */
export const metadata: MetadataNamespace = {
  current: () => currentEngine().metadata.current(),
  get: (key) => currentEngine().metadata.get(key),
  set: (key, value) => currentEngine().metadata.set(key, value),
  del: (key) => currentEngine().metadata.del(key),
  increment: (key, by) => currentEngine().metadata.increment(key, by),
  decrement: (key, by) => currentEngine().metadata.decrement(key, by),
  append: (key, value) => currentEngine().metadata.append(key, value),
  flush: () => askEngine((engine) => engine.metadata.flush()),
  stream: (key, source, signal) => askEngine((engine) => engine.metadata.stream(key, source, signal)),
}

/** Runs of the engine of the current run, or of the default engine. */
export const runs: RunsNamespace = {
  retrieve: (run) => askEngine((engine) => engine.runs.retrieve(run)),
  list: (params) => listOnEngine((engine) => engine.runs.list(params)),
  poll: (run) => askEngine((engine) => engine.runs.poll(run)),
  cancel: (run) => askEngine((engine) => engine.runs.cancel(run)),
  replay: (run) => askEngine((engine) => engine.runs.replay(run)),
  reschedule: (run, options) => askEngine((engine) => engine.runs.reschedule(run, options)),
  subscribeToRun: (run) => currentEngine().runs.subscribeToRun(run),
}

/** Tasks by id, on the engine of the current run, or on the default engine. */
export const tasks: TasksNamespace = {
  trigger: (id, payload, options) => askEngine((engine) => engine.tasks.trigger(id, payload, options)),
  batchTrigger: (id, items) => askEngine((engine) => engine.tasks.batchTrigger(id, items)),
  triggerAndWait: (id, payload, options) =>
    waitOnEngine((engine) => engine.tasks.triggerAndWait(id, payload, options)),
  batchTriggerAndWait: (id, items) => askEngine((engine) => engine.tasks.batchTriggerAndWait(id, items)),
}

/** Streams of the engine of the current run, or of the default engine. */
export const streams: StreamsNamespace = {
  // A definition is made before there is an engine: it looks for one when it is used.
  define: (options) => defineStream(streams, options),
  pipe: (key, source, options) => currentEngine().streams.pipe(key, source, options),
  append: (key, chunk) => askEngine((engine) => engine.streams.append(key, chunk)),
  read: (run, key, options) => currentEngine().streams.read(run, key, options),
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
