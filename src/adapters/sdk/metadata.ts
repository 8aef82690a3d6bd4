import { isDeepStrictEqual } from 'node:util'
import { metadata, streams } from '../../core/ambient/ambient.ts'
import type { StreamSource } from '../../api/stream.ts'
import { currentRun, executingRun } from './current-run.ts'
import { hasCode } from './error-code.ts'
import { hostedOnly } from './hosted-only.ts'
import { jsonSource } from './json-source.ts'
import { type RequestOptions, requireRequest } from './request-options.ts'
import { tellOnce } from './told-once.ts'
import type { Json } from './untyped.ts'
import { asJson } from './values.ts'

/**
 * Changes of the metadata of one run. Unless a value is removed whole, its key may be a path: `$.steps.decide`, `$.list.0`. A path
 * below something that is no object and no list changes nothing, as in the hosted service.
 */
export interface RunMetadataUpdater {
  set(key: string, value: Json): this
  del(key: string): this
  append(key: string, value: Json): this
  /** Takes a value out of a list. */
  remove(key: string, value: Json): this
  /** Counts from 0 where there is no number. */
  increment(key: string, value?: number): this
  decrement(key: string, value?: number): this
  /** Reads a source into a stream of the run; answers its chunks. */
  stream<Chunk>(key: string, source: StreamSource<Chunk>, signal?: AbortSignal): Promise<AsyncIterable<Chunk>>
}

/** Changes of the metadata of a run above this one. */
export interface OtherMetadataUpdater extends RunMetadataUpdater {
  /** Replaces all of it. */
  update(metadata: RunMetadata): this
}

/** Metadata of a run. */
export type RunMetadata = Record<string, Json>

/** The metadata of the current run. A path that changes many values, such as `$.list.*` or `$.list.[0:2]`, is a RangeError. */
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
  readonly parent: OtherMetadataUpdater
  /** Those of the root run. */
  readonly root: OtherMetadataUpdater
}

const own: RunMetadataUpdater = {
  set: (key, value) =>
    changed(key, { at: () => asJson(value), whole: () => metadata.set(key, asJson(value)) }),
  del: (key) => changed(key, { whole: () => metadata.del(key) }),
  append: (key, value) => {
    const item = asJson(value) ?? null
    return changed(key, {
      at: (list = []) => (Array.isArray(list) ? [...(list as unknown[]), item] : [list, item]),
      whole: () => metadata.append(key, item),
    })
  },
  remove: (key, value) => {
    const without = (list: unknown): unknown =>
      Array.isArray(list) ? list.filter((item) => !isDeepStrictEqual(item, asJson(value))) : list
    return changed(key, { at: without, whole: () => metadata.set(key, without(metadata.get(key))) })
  },
  increment: (key, by = 1) =>
    changed(key, {
      at: (count) => (typeof count === 'number' ? count : 0) + by,
      whole: () => {
        try {
          metadata.increment(key, by)
        } catch (error) {
          if (!(error instanceof TypeError)) throw error
          metadata.set(key, by)
        }
      },
    }),
  decrement: (key, by = 1) => own.increment(key, -by),
  stream: (key, source, signal) => metadata.stream(key, jsonSource(source), signal),
}

/** A change of a value: of one that has a key of its own, and of one at the end of a path. */
interface Change {
  readonly whole: () => unknown
  readonly at?: (value: unknown) => unknown
}

function changed(key: string, { whole, at }: Change): RunMetadataUpdater {
  if (at !== undefined && typeof key === 'string' && key.startsWith('$.')) changeAt(keysOf(key), at)
  else whole()
  return hostedMetadata
}

/** What comes after its run, as from a timer that was left behind, has no effect, as in the hosted service. */
function passLate(error: unknown): void {
  if (!hasCode(error, 'ERR_RUN_ENDED')) throw error
}

/** @throws RangeError for a path that names no key, or many at once. */
function keysOf(path: string): readonly string[] {
  const keys = path.slice(2).split('.').filter(Boolean)
  const isOne = (key: string): boolean => key !== '*' && !/^\[\d*:/.test(key)
  if (keys.length > 0 && keys.every(isOne)) return keys
  throw new RangeError(`Cannot use the metadata path "${path}": name one key after the other`)
}

function changeAt([top = '', ...below]: readonly string[], next: (value: unknown) => unknown): void {
  // A copy: the engine hands out no other.
  const value = metadata.get(top)
  const last = below.pop()
  if (last === undefined) metadata.set(top, next(value))
  else {
    const place = below.reduce(valueAt, value)
    if (typeof place !== 'object' || place === null) return
    Object.assign(place, { [last]: next(valueAt(place, last)) })
    metadata.set(top, asJson(value))
  }
}

function valueAt(place: unknown, key: string): unknown {
  const isOwner = typeof place === 'object' && place !== null && Object.hasOwn(place, key)
  return isOwner ? (place as Readonly<Record<string, unknown>>)[key] : undefined
}

function replace(values: Record<string, Json>): void {
  for (const key of Object.keys(metadata.current())) if (!(key in values)) metadata.del(key)
  for (const [key, value] of Object.entries(values)) metadata.set(key, asJson(value))
}

/** Changes of a run above this one: made at its place, as it keeps its metadata in memory while it executes. */
function ofAnother(whose: 'parent' | 'root'): OtherMetadataUpdater {
  const inside = (change: () => unknown): OtherMetadataUpdater => {
    const run = currentRun()
    const id = run?.ctx.run[whose === 'parent' ? 'parentTaskRunId' : 'rootTaskRunId']
    // A run without a parent is changed itself, as in the hosted service. One that has ended changes nothing.
    if (id === undefined || run?.place.isEnded === true) change()
    else {
      const other = executingRun(run?.place.kernel.executor.attempts.get(id))
      if (other === undefined)
        tellOnce(`metadata.${whose}`, `the ${whose} run is not executed in this process any more`)
      else other.place.inside(change)
    }
    return updater
  }
  const updater: OtherMetadataUpdater = {
    set: (key, value) => inside(() => own.set(key, value)),
    del: (key) => inside(() => own.del(key)),
    append: (key, value) => inside(() => own.append(key, value)),
    remove: (key, value) => inside(() => own.remove(key, value)),
    increment: (key, value) => inside(() => own.increment(key, value)),
    decrement: (key, value) => inside(() => own.decrement(key, value)),
    update: (values) => inside(() => replace(values)),
    // A stream of it is in the storage, wherever the run is executed.
    stream: async (key, source, signal) =>
      streams.pipe(key, jsonSource(source), { target: whose, ...(signal && { signal }) }).stream,
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
    await metadata.flush().catch(passLate)
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
