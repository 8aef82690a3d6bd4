import type { RunUpdated } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { measureJson } from '../../primitives/json.ts'
import { show } from '../../primitives/require.ts'
import type { Kernel } from '../kernel.ts'
import {
  type Attempt,
  lateAttempt,
  learn,
  type ReplacedMetadata,
  type SeenMetadata,
  staleAttempt,
} from '../attempt/attempt.ts'
import { ACTIVE_STATUSES, isFinal } from '../../contract/run-states.ts'
import { metadataOf } from '../views/run.ts'
import { runNotFound } from '../../api/not-found.ts'
import { fromJson, notSerializable, toJson } from '../../api/serialize.ts'
import { UPDATE_RUN } from '../host/storage-calls.ts'
import type { MetadataNamespace, StreamSource } from '../../api/stream.ts'

const CANCELED = ['CANCELED'] as const
/** From here on the text of a document is made once in a turn of the event loop, not once in a microtask. */
const LARGE_CHARACTERS = 16_384

/** Metadata of the run the caller is in: changed at once, stored in a microtask, many changes in one write. */
export class EngineMetadata implements MetadataNamespace {
  readonly #kernel: Kernel
  readonly #documents = new WeakMap<Attempt, MetadataDocument>()
  /** The last write of an attempt. */
  readonly #writes = new WeakMap<Attempt, Promise<void>>()
  /** Attempts whose last write has not begun. */
  readonly #planned = new WeakSet<Attempt>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  current(): Readonly<Record<string, unknown>> {
    return structuredClone(Object.fromEntries(this.#read('metadata.current').document.values))
  }

  get(key: string): unknown {
    const { document } = this.#read('metadata.get')
    requireKey(key)
    return structuredClone(document.get(key))
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
    if (lateAttempt('metadata.append') !== undefined) return this
    const { attempt, document } = this.#read('metadata.append')
    requireKey(key)
    document.append(key, value)
    return this.#changed(attempt, document)
  }

  seen(): SeenMetadata {
    return this.#read('metadata.replace').document
  }

  /** Changes all of it at once; its text is made already. */
  replace(metadata: ReplacedMetadata): void {
    const { attempt, document } = this.#read('metadata.replace')
    document.replace(metadata)
    this.#changed(attempt, document)
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
      const attempt = this.#kernel.requireRunning('metadata.stream')
      return chain(this.#kernel.streams.pipe(attempt, key, { source, signal }), ({ pipe, chunks }) => {
        pipe.keepWhile(new WeakRef(chunks))
        return chunks
      })
    })
  }

  #read(what: string): { readonly attempt: Attempt; readonly document: MetadataDocument } {
    // What an attempt has left behind may still read what it knew.
    const attempt = lateAttempt(what) ?? this.#kernel.requireAttempt(what)
    let document = this.#documents.get(attempt)
    if (document === undefined) {
      document = new MetadataDocument(metadataOf(attempt.record))
      this.#documents.set(attempt, document)
    }
    return { attempt, document }
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
    if (lateAttempt(what) !== undefined) return this
    const { attempt, document } = this.#read(what)
    requireKey(key)
    document.set(key, next(document.get(key)))
    return this.#changed(attempt, document)
  }

  #changed(attempt: Attempt, document: MetadataDocument): this {
    attempt.unsavedMetadata = document
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
    const document = this.#documents.get(attempt)
    if (document?.isLarge === true) await this.#turn(attempt)
    // The end of the run may be known before its attempt is told: an answer that comes late does not take it back.
    const isCanceled = attempt.is('compensating')
    const isOver = (): boolean => attempt.isEnded || (isFinal(attempt.record.status) && !isCanceled)
    this.#planned.delete(attempt)
    if (document === undefined || attempt.unsavedMetadata === undefined || isOver()) return
    const { publisher, reconciler } = this.#kernel
    const { changes } = document
    const updated = await this.#store(attempt, document.json)
    if (isOver()) return
    if (updated === undefined) {
      if (isCanceled) throw runNotFound(attempt.id)
      reconciler.stale(attempt)
      throw staleAttempt(attempt.id)
    }
    // Later changes are still to be saved.
    if (document.changes === changes) attempt.unsavedMetadata = undefined
    learn(attempt, updated.record)
    publisher.wake(attempt.id)
  }

  async #turn({ id }: Attempt): Promise<void> {
    const turn = createDeferred<void>()
    const { clock } = this.#kernel.host
    clock.setTimer(clock.now(), turn.resolve, { label: `a write of the metadata of ${id}`, background: true })
    await turn.promise
  }

  async #store(attempt: Attempt, metadataJson: string): Promise<RunUpdated | undefined> {
    const { host, events, outage } = this.#kernel
    const { id, record } = attempt
    const request = {
      id,
      expected: { status: attempt.is('compensating') ? CANCELED : ACTIVE_STATUSES, epoch: record.epoch },
      change: { metadataJson },
      by: host.owner,
      now: host.now(),
    }
    try {
      return await outage.ask({ attempt, call: UPDATE_RUN, request }, (updated) => updated)
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

/** The metadata of one attempt. A change costs what it changes; the text of all is made for a write. */
class MetadataDocument implements SeenMetadata {
  #values: Map<string, unknown>
  #changes = 0
  #json: string | undefined
  #isLarge = false

  constructor(values: Map<string, unknown>) {
    this.#values = values
  }

  get changes(): number {
    return this.#changes
  }

  /** Whether the text of all of it was long when it was last made. */
  get isLarge(): boolean {
    return this.#isLarge
  }

  get values(): ReadonlyMap<string, unknown> {
    return this.#values
  }

  get json(): string {
    const json = (this.#json ??= JSON.stringify(Object.fromEntries(this.#values)))
    this.#isLarge = json.length > LARGE_CHARACTERS
    return json
  }

  get(key: string): unknown {
    return this.#values.get(key)
  }

  /** Sets a copy of the value; `undefined` deletes the key. */
  set(key: string, value: unknown): void {
    const json = toJson(value, 'metadata', key)
    if (json === undefined) this.#values.delete(key)
    else this.#values.set(key, fromJson(json))
    this.#changed()
  }

  replace({ values, json }: ReplacedMetadata): void {
    this.#values = values
    this.#changed()
    this.#json = json
  }

  /** Adds a copy of the value to a list. Another value becomes the first item of one. */
  append(key: string, value: unknown): void {
    const before = this.#values.get(key)
    const list: unknown[] = Array.isArray(before) ? before : before === undefined ? [] : [before]
    if (measureJson([value]) < 0) throw notSerializable([...list, value], `metadata "${key}"`)
    list.push(fromJson(JSON.stringify(value)))
    this.#values.set(key, list)
    this.#changed()
  }

  #changed(): void {
    this.#changes += 1
    this.#json = undefined
  }
}
