import { metadata, streams } from '../../core/ambient/ambient.ts'
import type { StreamSource } from '../../api/stream.ts'
import { currentRun, executedRun } from './current-run.ts'
import { hostedOnly } from './hosted-only.ts'
import { type RequestOptions, requireRequest } from './request-options.ts'
import { tellOnce } from './told-once.ts'
import type { Json } from './untyped.ts'
import { asJson } from './values.ts'

/** Changes of the metadata of one run. */
export interface RunMetadataUpdater {
  set(key: string, value: Json): this
  del(key: string): this
  append(key: string, value: Json): this
  /** Takes a value out of a list. */
  remove(key: string, value: Json): this
  increment(key: string, value?: number): this
  decrement(key: string, value?: number): this
  /** Reads a source into a stream of the run; answers its chunks. */
  stream<Chunk>(key: string, source: StreamSource<Chunk>, signal?: AbortSignal): Promise<AsyncIterable<Chunk>>
}

/** Metadata of a run. */
export type RunMetadata = Record<string, Json>

/** The metadata of the current run. */
export interface HostedMetadata extends RunMetadataUpdater {
  /** All of it; nothing outside of a run. */
  current(): RunMetadata | undefined
  get(key: string): Json | undefined
  replace(metadata: RunMetadata): void
  /** An older name of `replace`. */
  save(metadata: RunMetadata): void
  flush(requestOptions?: RequestOptions): Promise<void>
  /** Metadata that is changed from outside is there at once: this does nothing. */
  refresh(requestOptions?: RequestOptions): Promise<void>
  /** The chunks of a stream of this run. */
  fetchStream<Chunk>(key: string, signal?: AbortSignal): Promise<AsyncIterable<Chunk>>
  /** Changes of the metadata of the parent run, while this process executes it; and its streams, wherever it is. */
  readonly parent: RunMetadataUpdater
  /** Those of the root run. */
  readonly root: RunMetadataUpdater
}

const own: RunMetadataUpdater = {
  set: (key, value) => chained(() => metadata.set(key, asJson(value))),
  del: (key) => chained(() => metadata.del(key)),
  append: (key, value) => chained(() => metadata.append(key, asJson(value) ?? null)),
  remove: (key, value) =>
    chained(() => {
      const list = metadata.get(key)
      if (Array.isArray(list))
        metadata.set(
          key,
          list.filter((item) => JSON.stringify(item) !== JSON.stringify(value)),
        )
    }),
  increment: (key, value) => chained(() => metadata.increment(key, value)),
  decrement: (key, value) => chained(() => metadata.decrement(key, value)),
  stream: (key, source, signal) => metadata.stream(key, source, signal),
}

function chained(change: () => unknown): RunMetadataUpdater {
  change()
  return hostedMetadata
}

function replace(values: Record<string, Json>): void {
  for (const key of Object.keys(metadata.current())) if (!(key in values)) metadata.del(key)
  for (const [key, value] of Object.entries(values)) metadata.set(key, asJson(value))
}

/** Changes of a run above this one: made at its place, as it keeps its metadata in memory while it executes. */
function ofAnother(whose: 'parent' | 'root'): RunMetadataUpdater {
  const changed = (change: () => unknown): RunMetadataUpdater => {
    const run = currentRun()
    const id = run?.ctx.run[whose === 'parent' ? 'parentTaskRunId' : 'rootTaskRunId']
    // A run without a parent is changed itself, as in the hosted service.
    if (id === undefined) change()
    else {
      const other = run && executedRun(run.place.kernel, id)
      if (other === undefined)
        tellOnce(`metadata.${whose}`, `the ${whose} run is not executed in this process any more`)
      else other.place.inside(change)
    }
    return updater
  }
  const updater: RunMetadataUpdater = {
    set: (key, value) => changed(() => own.set(key, value)),
    del: (key) => changed(() => own.del(key)),
    append: (key, value) => changed(() => own.append(key, value)),
    remove: (key, value) => changed(() => own.remove(key, value)),
    increment: (key, value) => changed(() => own.increment(key, value)),
    decrement: (key, value) => changed(() => own.decrement(key, value)),
    // A stream of it is in the storage, wherever the run is executed.
    stream: async (key, source, signal) =>
      streams.pipe(key, source, { target: whose, ...(signal && { signal }) }).stream,
  }
  return updater
}

const parent = ofAnother('parent')
const root = ofAnother('root')

/** `metadata`. Outside of a run there is none to read, and a change throws `ERR_NOT_IN_RUN`. */
export const hostedMetadata: HostedMetadata = {
  ...own,
  // Only JSON values are stored.
  current: () => (currentRun() === undefined ? undefined : (metadata.current() as Record<string, Json>)),
  get: (key) => (currentRun() === undefined ? undefined : (metadata.get(key) as Json | undefined)),
  replace,
  save: replace,
  flush: async (requestOptions) => {
    requireRequest(requestOptions)
    await metadata.flush()
  },
  refresh: async (requestOptions) => requireRequest(requestOptions),
  fetchStream: async <Chunk>(key: string, signal?: AbortSignal) => {
    const run = currentRun()?.ctx.run
    if (run === undefined) throw hostedOnly('metadata.fetchStream outside of a run', 'use streams.read')
    return streams.read<Chunk>(run.id, key, signal === undefined ? {} : { signal })
  },
  parent,
  root,
} as HostedMetadata
