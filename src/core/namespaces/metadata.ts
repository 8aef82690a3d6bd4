import type { RunUpdated } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import { show } from '../../primitives/require.ts'
import type { Kernel } from '../kernel.ts'
import { learn, type RunScope } from '../attempt/attempt.ts'
import { ACTIVE_STATUSES, isFinal } from '../../contract/run-states.ts'
import { readMetadata } from '../reading/run-view.ts'
import { fromJson, toJson } from '../host/serialize.ts'
import type { MetadataNamespace, StreamSource } from '../../api/stream.ts'
import { staleAttempt } from '../waits/waitpoints.ts'

/** Metadata of the run the caller is in: changed at once, stored in a microtask, many changes in one write. */
export class EngineMetadata implements MetadataNamespace {
  readonly #kernel: Kernel
  readonly #values = new WeakMap<RunScope, Record<string, unknown>>()
  /** The last write of an attempt. */
  readonly #writes = new WeakMap<RunScope, Promise<void>>()
  /** Attempts whose last write has not begun. */
  readonly #planned = new WeakSet<RunScope>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  current(): Readonly<Record<string, unknown>> {
    return structuredClone(this.#read('metadata.current').values)
  }

  get(key: string): unknown {
    const { values } = this.#read('metadata.get')
    requireKey(key)
    return structuredClone(valueOf(values, key))
  }

  set(key: string, value: unknown): this {
    return this.#change('metadata.set', key, () => value)
  }

  del(key: string): this {
    return this.#change('metadata.del', key, () => undefined)
  }

  increment(key: string, by: number = 1): this {
    return this.#add('metadata.increment', key, { by, sign: 1 })
  }

  decrement(key: string, by: number = 1): this {
    return this.#add('metadata.decrement', key, { by, sign: -1 })
  }

  append(key: string, value: unknown): this {
    return this.#change('metadata.append', key, (before) => {
      if (before === undefined) return [value]
      return Array.isArray(before) ? [...(before as unknown[]), value] : [before, value]
    })
  }

  flush(): Promise<void> {
    return this.#kernel.call(() => {
      const scope = this.#kernel.requireScope('metadata.flush')
      // A write that failed has left something behind.
      if (scope.unsavedMetadata !== undefined) this.#plan(scope)
      return this.#writes.get(scope)
    })
  }

  stream<Chunk>(
    key: string,
    source: StreamSource<Chunk>,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<Chunk>> {
    return this.#kernel.call(() => {
      const scope = this.#kernel.requireScope('metadata.stream')
      return chain(this.#kernel.parts.streams.pipe(scope, key, { source, signal }), (pipe) => pipe.chunks)
    })
  }

  #read(what: string): { readonly scope: RunScope; readonly values: Record<string, unknown> } {
    const scope = this.#kernel.requireScope(what)
    const values = this.#values.get(scope) ?? readMetadata(scope.record)
    this.#values.set(scope, values)
    return { scope, values }
  }

  #add(what: string, key: string, { by, sign }: { readonly by: number; readonly sign: 1 | -1 }): this {
    return this.#change(what, key, (value) => {
      if (!Number.isFinite(by))
        throw new RangeError(`Cannot change metadata "${key}" by ${show(by)}: it must be a finite number`)
      if (value === undefined || typeof value === 'number') return (value ?? 0) + sign * by
      throw new TypeError(`Cannot change metadata "${key}" by ${by}: it is not a number`)
    })
  }

  #change(what: string, key: string, next: (value: unknown) => unknown): this {
    const { scope, values } = this.#read(what)
    requireKey(key)
    const valueJson = toJson(next(valueOf(values, key)), 'metadata', key)
    const { [key]: _, ...others } = values
    // In a literal, unlike in an assignment, a key "__proto__" is a key like any other.
    const changed = valueJson === undefined ? others : { ...others, [key]: fromJson(valueJson) }
    this.#values.set(scope, changed)
    scope.unsavedMetadata = JSON.stringify(changed)
    this.#plan(scope)
    return this
  }

  /** Changes of one turn, or made while a write is out, are one write. */
  #plan(scope: RunScope): void {
    if (this.#planned.has(scope)) return
    this.#planned.add(scope)
    const write = this.#write(scope, this.#writes.get(scope))
    // Reported, and told to whoever flushes.
    write.catch(() => undefined)
    this.#writes.set(scope, write)
  }

  /** A write that fails is reported, and made up for by the next write of the run. */
  async #write(scope: RunScope, previous: Promise<void> | undefined): Promise<void> {
    await previous?.catch(() => undefined)
    await Promise.resolve()
    // The end of the run may be known before its attempt is told: an answer that comes late does not take it back.
    const isOver = (): boolean => scope.isEnded || isFinal(scope.record.status)
    this.#planned.delete(scope)
    const metadataJson = scope.unsavedMetadata
    if (metadataJson === undefined || isOver()) return
    const { journal, executor } = this.#kernel.parts
    const updated = await this.#store(scope, metadataJson)
    if (isOver()) return
    if (updated === undefined) {
      executor.stale(scope)
      throw staleAttempt(scope.id)
    }
    // What was changed since is still to be saved.
    if (scope.unsavedMetadata === metadataJson) scope.unsavedMetadata = undefined
    learn(scope, updated.record)
    journal.touched(scope.id)
  }

  async #store({ id, record }: RunScope, metadataJson: string): Promise<RunUpdated | undefined> {
    const { host, journal } = this.#kernel.parts
    try {
      return await host.storage.runs.update({
        id,
        expected: { status: ACTIVE_STATUSES, epoch: record.epoch },
        change: { metadataJson },
        by: host.owner,
        now: host.now(),
      })
    } catch (error) {
      journal.events.error(error, id)
      throw error
    }
  }
}

function requireKey(key: unknown): void {
  if (typeof key !== 'string')
    throw new TypeError(`Cannot use ${show(key)} as a key of the metadata: it must be a string`)
}

/** Only what was set: every object has a `toString`. */
function valueOf(values: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(values, key) ? values[key] : undefined
}
