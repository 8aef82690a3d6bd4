import type { ConnectionState } from '../client/namespaces.ts'
import { asError } from '../primitives/as-error.ts'

/** How a subscription stands: `ended` is the end of what it follows, or an `error`. */
export type SubscriptionStatus = 'connecting' | ConnectionState | 'ended'

/** What a component sees of a subscription. It is another object whenever it is different. */
export interface Snapshot<Value> {
  /** Absent: nothing has come yet. */
  readonly value?: Value
  readonly status: SubscriptionStatus
  readonly error?: Error
}

/** The ways in which a source tells what it has. */
export interface SourceEvents<Value> {
  readonly signal: AbortSignal
  readonly onConnection: (state: ConnectionState) => void
  /** There is another value, which is asked for when it is shown. */
  readonly show: (value: () => Value) => void
}

/** Follows something to its end. Rejects with why it cannot go on. */
export type Source<Value> = (events: SourceEvents<Value>) => Promise<void>

/** When things are done, on a page or in a test. */
export interface SubscriptionTurns {
  /** Calls `work` when the page is about to be drawn. */
  readonly onNextFrame: (work: () => void) => void
  /** Calls `work` once the components that change now have changed. */
  readonly afterTurn: (work: () => void) => void
}

const CONNECTING: Snapshot<never> = { status: 'connecting' }

/** One subscription, for all components that have asked for it. */
class Subscription<Value> {
  readonly listeners = new Set<() => void>()
  readonly controller = new AbortController()
  snapshot: Snapshot<Value> = CONNECTING
  /** What has come since it was shown. */
  next: { value?: () => Value; status?: SubscriptionStatus; error?: Error } | undefined

  /** Makes what has come the snapshot. */
  publish(): void {
    const { value, ...others } = this.next ?? {}
    this.next = undefined
    this.snapshot = { ...this.snapshot, ...others, ...(value && { value: value() }) }
  }
}

/**
 * The subscriptions of a page, one for each key, for as long as a component has it. A subscription begins with the first listener. It is
 * let go after the turn in which the last one left: a component that comes back in this turn finds it as it was.
 */
export class Subscriptions {
  readonly #turns: SubscriptionTurns
  readonly #all = new Map<string, Subscription<unknown>>()
  readonly #changed = new Set<Subscription<unknown>>()

  constructor(turns: SubscriptionTurns) {
    this.#turns = turns
  }

  /** The state of a subscription, also of one that has not begun. A key says of what type its values are. */
  snapshot<Value>(key: string): Snapshot<Value> {
    return (this.#all.get(key)?.snapshot ?? CONNECTING) as Snapshot<Value>
  }

  /** Calls `listener` after each change of the snapshot. Answers what ends that. */
  subscribe<Value>(key: string, source: Source<Value>, listener: () => void): () => void {
    const subscription = this.#all.get(key) ?? this.#begin(key, source)
    subscription.listeners.add(listener)
    return () => {
      subscription.listeners.delete(listener)
      if (subscription.listeners.size === 0) this.#turns.afterTurn(() => this.#letGo(key, subscription))
    }
  }

  #begin<Value>(key: string, source: Source<Value>): Subscription<unknown> {
    const subscription = new Subscription<unknown>()
    this.#all.set(key, subscription)
    const tell = (news: NonNullable<Subscription<unknown>['next']>): void => {
      if (subscription.controller.signal.aborted) return
      subscription.next = { ...subscription.next, ...news }
      this.#show(subscription)
    }
    const { signal } = subscription.controller
    const end = (error?: unknown): void =>
      tell({ status: 'ended', ...(error !== undefined && { error: asError(error) }) })
    source({
      signal,
      onConnection: (status) => tell({ status }),
      show: (value) => tell({ value }),
    }).then(() => end(), end)
    return subscription
  }

  #letGo(key: string, subscription: Subscription<unknown>): void {
    if (subscription.listeners.size > 0 || this.#all.get(key) !== subscription) return
    this.#all.delete(key)
    subscription.controller.abort()
  }

  /** All that changes before a frame is one change of the page. */
  #show(subscription: Subscription<unknown>): void {
    if (this.#changed.size === 0) this.#turns.onNextFrame(() => this.#publish())
    this.#changed.add(subscription)
  }

  #publish(): void {
    const changed = [...this.#changed]
    this.#changed.clear()
    for (const subscription of changed) subscription.publish()
    for (const { listeners } of changed) for (const listener of [...listeners]) listener()
  }
}
