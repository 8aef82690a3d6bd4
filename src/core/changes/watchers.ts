import type { RunRecord } from '../../contract/records.ts'
import type { Deferred } from '../../primitives/deferred.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { addTo, type Few, itemsOf, removeFrom, FewMap } from '../../primitives/few.ts'
import { isFinal } from '../../contract/run-states.ts'
import { RingBuffer } from '../../primitives/ring-buffer.ts'

/** What is known of a run after a change: its record, or only that it has not ended. */
export type RunNews = RunRecord | 'goes on'

/**
 * The readers that watch something, by topic. A watcher is opened before the first read, so that no change falls between
 * a read and the wait for the next one; changes in between are one wake-up.
 */
export class Watchers {
  readonly #watchers = new FewMap<Few<Watcher>>()
  #closed: (() => Error) | undefined

  /** How many topics are watched. */
  get topics(): number {
    return this.#watchers.size
  }

  /** How many watchers are open. */
  get size(): number {
    return this.#all.size
  }

  watch(...topics: readonly string[]): Watcher {
    return this.open(new Watcher(this, topics))
  }

  /** A watcher of the end of a run. */
  watchEnd(runId: string): EndWatcher {
    return this.open(new EndWatcher(this, [runId]))
  }

  /** A watcher of a run and of all its streams. */
  watchStreams(runId: string, topic: string): StreamsWatcher {
    return this.open(new StreamsWatcher(this, [runId, topic]))
  }

  /** Every watcher is opened here. */
  open<W extends Watcher>(watcher: W): W {
    if (this.#closed !== undefined) watcher.fail(this.#closed())
    for (const topic of watcher.topics) addTo(this.#watchers, topic, watcher)
    return watcher
  }

  /** Wakes the watchers of a topic. `record`: the run after the change, as far as it is known here. `key`: the stream that changed. */
  wake(topic: string, record?: RunNews, key?: string): void {
    const watchers = this.#watchers.get(topic)
    if (watchers === undefined) return
    for (const watcher of itemsOf(watchers)) watcher.wake(topic, record, key)
  }

  /** Anything may have changed: all watchers look again. */
  wakeAll(): void {
    for (const [topic] of this.#watchers.entries()) this.wake(topic)
  }

  /**
   * Every watcher, present and future, rejects with this error, after the changes that it was not told yet. Resolves when those
   * that read on have read these.
   */
  async close(error: () => Error): Promise<void> {
    this.#closed = error
    const reads = Array.from(this.#all, async (watcher) => {
      watcher.fail(error())
      await watcher.readOn?.()
    })
    await Promise.allSettled(reads)
  }

  /** The watcher is closed. */
  leave(topics: readonly string[], watcher: Watcher): void {
    for (const topic of topics) removeFrom(this.#watchers, topic, watcher)
  }

  get #all(): ReadonlySet<Watcher> {
    return new Set(this.#watchers.entries().flatMap(([, watchers]) => itemsOf(watchers)))
  }
}

/** One reader's side of {@link Watchers}. */
export class Watcher {
  readonly #all: Pick<Watchers, 'leave'>
  readonly topics: readonly string[]
  /** The topics that changed since they were asked for; a set is made for the second one only. */
  #woken: string | Set<string> | undefined
  #changed = false
  #failure: Error | undefined
  #waiting: Deferred<void> | undefined
  /** Of a reader that is to have what is stored when its engine closes: resolves when it has read that. */
  readOn: (() => Promise<unknown>) | undefined

  constructor(all: Pick<Watchers, 'leave'>, topics: readonly string[]) {
    this.#all = all
    this.topics = topics
  }

  /** Resolves with the next change since the last call; at once if there was one. */
  changed(): Promise<void> {
    if (this.#changed) {
      this.#changed = false
      return Promise.resolve()
    }
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    this.#waiting ??= createDeferred<void>()
    return this.#waiting.promise
  }

  /** Whether this topic changed since it was last asked for. */
  woke(topic: string): boolean {
    if (this.#woken instanceof Set) return this.#woken.delete(topic)
    if (this.#woken !== topic) return false
    this.#woken = undefined
    return true
  }

  wake(topic: string, _record?: RunNews, _key?: string): void {
    if (this.#woken instanceof Set) this.#woken.add(topic)
    else if (this.#woken === undefined) this.#woken = topic
    else if (this.#woken !== topic) this.#woken = new Set([this.#woken, topic])
    if (this.#waiting === undefined) {
      this.#changed = true
      return
    }
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting.resolve()
  }

  fail(error: Error): void {
    this.#failure ??= error
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.reject(this.#failure)
  }

  close(): void {
    this.#all.leave(this.topics, this)
  }
}

/** Sleeps while the run goes on; wakes when it has ended, and when a change is known without its record. */
export class EndWatcher extends Watcher {
  #ended: RunRecord | undefined
  #left: Deferred<void> | undefined
  /** Its caller looks once more, and closes it. */
  override readonly readOn = (): Promise<void> => (this.#left ??= createDeferred<void>()).promise

  override close(): void {
    this.#left?.resolve()
    super.close()
  }

  /** The run as it ended, if that is known. */
  get ended(): RunRecord | undefined {
    return this.#ended
  }

  override wake(topic: string, record?: RunNews): void {
    if (record === 'goes on' || (record !== undefined && !isFinal(record.status))) return
    this.#ended ??= record
    super.wake(topic)
  }
}

const NO_KEYS: ReadonlySet<string> = new Set()

/** Knows which streams changed: a reader of thousands need not look at all of them for each chunk. */
export class StreamsWatcher extends Watcher {
  #keys: Set<string> | undefined
  #isAny = false

  override wake(topic: string, _record?: RunNews, key?: string): void {
    if (key !== undefined) (this.#keys ??= new Set()).add(key)
    else if (topic !== this.topics[0]) this.#isAny = true
    super.wake(topic)
  }

  /** The streams that changed since this was last asked for; nothing when any may have. */
  takeKeys(): ReadonlySet<string> | undefined {
    const keys = this.#isAny ? undefined : (this.#keys ?? NO_KEYS)
    this.#isAny = false
    this.#keys = undefined
    return keys
  }
}

/** A reader that is further behind reads everything. */
const MOST = 1_000

/**
 * The runs that changed lately, one change after the other, for readers that follow many runs and would read them all
 * again. Kept from the first time that a reader asks for the place.
 */
export class ChangedRuns {
  readonly #ids: RingBuffer<string>
  #isKept = false

  /** @param most Changes that are kept. */
  constructor(most: number = MOST) {
    this.#ids = new RingBuffer({ capacity: most })
  }

  /** The place of the next change: to be asked before the runs are read, so that no change falls between the two. */
  get place(): number {
    this.#isKept = true
    return this.#ids.next
  }

  /** A run changed. */
  add(runId: string): void {
    if (this.#isKept) this.#ids.push(runId)
  }

  /** Any run may have changed. */
  lose(): void {
    this.#ids.push('')
    this.#ids.clear()
  }

  /** The runs that changed from a place on; nothing when any may have. */
  since(place: number): ReadonlySet<string> | undefined {
    if (place < this.#ids.first) return undefined
    return new Set(this.#ids.read(place, Infinity))
  }
}
