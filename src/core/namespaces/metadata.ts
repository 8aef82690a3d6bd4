import type { RunUpdated } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import { show } from '../../primitives/require.ts'
import type { Kernel } from '../kernel.ts'
import { learn, staleAttempt, type Attempt } from '../attempt/attempt.ts'
import { ACTIVE_STATUSES, isFinal } from '../../contract/run-states.ts'
import { readMetadata } from '../views/run.ts'
import { fromJson, toJson } from '../host/serialize.ts'
import type { MetadataNamespace, StreamSource } from '../../api/stream.ts'

/** Metadata of the run the caller is in: changed at once, stored in a microtask, many changes in one write. */
export class EngineMetadata implements MetadataNamespace {
  readonly #kernel: Kernel
  readonly #values = new WeakMap<Attempt, Record<string, unknown>>()
  /** The last write of an attempt. */
  readonly #writes = new WeakMap<Attempt, Promise<void>>()
  /** Attempts whose last write has not begun. */
  readonly #planned = new WeakSet<Attempt>()

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
      const attempt = this.#kernel.requireAttempt('metadata.flush')
      // A write that failed has left something behind.
      if (attempt.unsavedMetadata !== undefined) this.#plan(attempt)
      return this.#writes.get(attempt)
    })
  }

  stream<Chunk>(
    key: string,
    source: StreamSource<Chunk>,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<Chunk>> {
    return this.#kernel.call(() => {
      const attempt = this.#kernel.requireAttempt('metadata.stream')
      return chain(this.#kernel.streams.pipe(attempt, key, { source, signal }), (pipe) => pipe.chunks)
    })
  }

  #read(what: string): { readonly attempt: Attempt; readonly values: Record<string, unknown> } {
    const attempt = this.#kernel.requireAttempt(what)
    const values = this.#values.get(attempt) ?? readMetadata(attempt.record)
    this.#values.set(attempt, values)
    return { attempt, values }
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
    const { attempt, values } = this.#read(what)
    requireKey(key)
    const valueJson = toJson(next(valueOf(values, key)), 'metadata', key)
    const { [key]: _, ...others } = values
    // In a literal, unlike in an assignment, a key "__proto__" is a key like any other.
    const changed = valueJson === undefined ? others : { ...others, [key]: fromJson(valueJson) }
    this.#values.set(attempt, changed)
    attempt.unsavedMetadata = JSON.stringify(changed)
    this.#plan(attempt)
    return this
  }

  /** Changes of one turn, or made while a write is out, are one write. */
  #plan(attempt: Attempt): void {
    if (this.#planned.has(attempt)) return
    this.#planned.add(attempt)
    const write = this.#write(attempt, this.#writes.get(attempt))
    // Reported, and given to callers that flush.
    write.catch(() => undefined)
    this.#writes.set(attempt, write)
  }

  /** A write that fails is reported, and made up for by the next write of the run. */
  async #write(attempt: Attempt, previous: Promise<void> | undefined): Promise<void> {
    await previous?.catch(() => undefined)
    await Promise.resolve()
    // The end of the run may be known before its attempt is told: an answer that comes late does not take it back.
    const isOver = (): boolean => attempt.isEnded || isFinal(attempt.record.status)
    this.#planned.delete(attempt)
    const metadataJson = attempt.unsavedMetadata
    if (metadataJson === undefined || isOver()) return
    const { publisher, reconciler } = this.#kernel
    const updated = await this.#store(attempt, metadataJson)
    if (isOver()) return
    if (updated === undefined) {
      reconciler.stale(attempt)
      throw staleAttempt(attempt.id)
    }
    // Later changes are still to be saved.
    if (attempt.unsavedMetadata === metadataJson) attempt.unsavedMetadata = undefined
    learn(attempt, updated.record)
    publisher.wake(attempt.id)
  }

  async #store({ id, record }: Attempt, metadataJson: string): Promise<RunUpdated | undefined> {
    const { host, events } = this.#kernel
    try {
      return await host.storage.runs.update({
        id,
        expected: { status: ACTIVE_STATUSES, epoch: record.epoch },
        change: { metadataJson },
        by: host.owner,
        now: host.now(),
      })
    } catch (error) {
      events.error(error, id)
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
