import { currentEngine } from './current-engine.ts'
import type { RunsNamespace, TasksNamespace } from './run.ts'
import type { MetadataNamespace, StreamsNamespace } from './stream.ts'
import type { WaitNamespace } from './token.ts'

/** Tokens and waits of the engine of the current run, or of the default engine. */
export const wait: WaitNamespace = {
  createToken: (options) => currentEngine().wait.createToken(options),
  forToken: (token, options) => currentEngine().wait.forToken(token, options),
  completeToken: (token, output) => currentEngine().wait.completeToken(token, output),
  retrieveToken: (token) => currentEngine().wait.retrieveToken(token),
  listTokens: (params) => currentEngine().wait.listTokens(params),
  for: (options) => currentEngine().wait.for(options),
  until: (options) => currentEngine().wait.until(options),
}

/** Metadata of the current run. */
export const metadata: MetadataNamespace = {
  current: () => currentEngine().metadata.current(),
  get: (key) => currentEngine().metadata.get(key),
  set: (key, value) => currentEngine().metadata.set(key, value),
  del: (key) => currentEngine().metadata.del(key),
  increment: (key, by) => currentEngine().metadata.increment(key, by),
  decrement: (key, by) => currentEngine().metadata.decrement(key, by),
  append: (key, value) => currentEngine().metadata.append(key, value),
  flush: () => currentEngine().metadata.flush(),
  stream: (key, source, signal) => currentEngine().metadata.stream(key, source, signal),
}

/** Runs of the engine of the current run, or of the default engine. */
export const runs: RunsNamespace = {
  retrieve: (run) => currentEngine().runs.retrieve(run),
  list: (params) => currentEngine().runs.list(params),
  poll: (run) => currentEngine().runs.poll(run),
  cancel: (run) => currentEngine().runs.cancel(run),
  replay: (run) => currentEngine().runs.replay(run),
  subscribeToRun: (run) => currentEngine().runs.subscribeToRun(run),
}

/** Tasks by id, on the engine of the current run, or on the default engine. */
export const tasks: TasksNamespace = {
  trigger: (id, payload, options) => currentEngine().tasks.trigger(id, payload, options),
  batchTrigger: (id, items) => currentEngine().tasks.batchTrigger(id, items),
  triggerAndWait: (id, payload, options) => currentEngine().tasks.triggerAndWait(id, payload, options),
  batchTriggerAndWait: (id, items) => currentEngine().tasks.batchTriggerAndWait(id, items),
}

/** Streams of the engine of the current run, or of the default engine. */
export const streams: StreamsNamespace = {
  // A definition is made before there is an engine: it looks for one when it is used.
  define: ({ id }) => ({
    id,
    pipe: (source, options) => currentEngine().streams.pipe(id, source, options),
    append: (chunk) => currentEngine().streams.append(id, chunk),
    read: (run, options) => currentEngine().streams.read(run, id, options),
  }),
  pipe: (key, source, options) => currentEngine().streams.pipe(key, source, options),
  append: (key, chunk) => currentEngine().streams.append(key, chunk),
  read: (run, key, options) => currentEngine().streams.read(run, key, options),
}

/**
 * Runs an effect once in the life of a run: its JSON result is stored, and a later attempt gets it without running the
 * effect again. At least once if a crash falls between the effect and the record.
 */
export function once<Result>(key: string, effect: () => Result | Promise<Result>): Promise<Result> {
  return currentEngine().once(key, effect)
}
