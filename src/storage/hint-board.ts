import type { Hint, Unsubscribe } from '../contract/storage.ts'

type Listener = (hint: Hint) => void

interface Sending {
  readonly listeners: ReadonlySet<Listener>
  readonly hint: Hint
  /** Those that a hint of waits names: there may be more to come. */
  runIds?: Set<string> | undefined
}

/**
 * Sends hints of changes to the owners that subscribe. `by` is the owner that made the change: it is left out, because it
 * knows from its answer. Without `by` all owners are told.
 *
 * Hints are collected while a method works and sent by `flush`, its last step: a listener may call the storage again.
 * With the caller as the only subscriber, as in most programs, nothing is even made.
 */
export class HintBoard {
  readonly #subscribers = new Map<string, Set<Listener>>()
  #sendings: Sending[] = []

  subscribe(owner: string, listener: Listener): Unsubscribe {
    // A subscription of its own, so that the same function may subscribe twice.
    const own: Listener = (hint) => listener(hint)
    const listeners = this.#subscribers.get(owner) ?? new Set()
    this.#subscribers.set(owner, listeners.add(own))
    return () => {
      listeners.delete(own)
      if (listeners.size === 0 && this.#subscribers.get(owner) === listeners) this.#subscribers.delete(owner)
    }
  }

  /** There is something to claim, or a slot that a run waits for. */
  queue(by: string | undefined): void {
    if (this.#isHeard(by)) this.#tell({ topic: 'queue' }, by)
  }

  /** There is something to claim that the last claim of `owner` could not get. */
  left(owner: string): void {
    this.#tellOwner(owner, 'queue')
  }

  /** `goesOn`: the change has not ended the run, as far as the storage says. */
  run(runId: string, by: string | undefined, goesOn = false): void {
    if (this.#isHeard(by)) this.#tell({ topic: 'run', runId, ...(goesOn && { goesOn }) }, by)
  }

  /** The run is new; `'one of many'`: so are others that are not named. */
  created(runId: string, by: string | undefined, isNew: true | 'one of many' = true): void {
    if (this.#isHeard(by)) this.#tell({ topic: 'run', runId, goesOn: true, isNew }, by)
  }

  /** Manual tokens were created or settled; told once, however many they are. */
  token(by: string | undefined): void {
    if (!this.#isHeard(by)) return
    for (const owner of this.#subscribers.keys()) if (owner !== by) this.#tellOwner(owner, 'token')
  }

  stream(runId: string, key: string, by: string | undefined): void {
    if (this.#isHeard(by)) this.#tell({ topic: 'stream', runId, key }, by)
  }

  /** Waits of `owner` became ready; told once, however many they are. The runs are named while all of them are. */
  waits(owner: string, by: string | undefined, runId?: string): void {
    const listeners = owner === by ? undefined : this.#subscribers.get(owner)
    if (listeners === undefined) return
    const told = this.#sendings.find((one) => one.listeners === listeners && one.hint.topic === 'waits')
    if (told === undefined) {
      const runIds = runId === undefined ? undefined : new Set([runId])
      this.#sendings.push({ listeners, hint: { topic: 'waits' }, runIds })
    } else if (runId === undefined) told.runIds = undefined
    else told.runIds?.add(runId)
  }

  /** Anything may have changed for `owner`. */
  any(owner: string): void {
    this.#tellOwner(owner, 'any')
  }

  /** Anything may have changed for all owners. */
  all(by: string | undefined): void {
    for (const owner of this.#subscribers.keys()) if (owner !== by) this.any(owner)
  }

  flush(): void {
    if (this.#sendings.length === 0) return
    const sendings = this.#sendings
    this.#sendings = []
    for (const { listeners, hint, runIds } of sendings) {
      const told: Hint = runIds === undefined ? hint : { topic: 'waits', runIds: [...runIds] }
      for (const listener of [...listeners]) send(listener, told)
    }
  }

  #tellOwner(owner: string, topic: 'any' | 'queue' | 'token'): void {
    const listeners = this.#subscribers.get(owner)
    if (listeners === undefined) return
    const isTold = this.#sendings.some((one) => one.listeners === listeners && one.hint.topic === topic)
    if (!isTold) this.#sendings.push({ listeners, hint: { topic } })
  }

  #isHeard(by: string | undefined): boolean {
    const { size } = this.#subscribers
    if (size === 0) return false
    return size > 1 || by === undefined || !this.#subscribers.has(by)
  }

  #tell(hint: Hint, by: string | undefined): void {
    for (const [owner, listeners] of this.#subscribers) {
      if (owner !== by) this.#sendings.push({ listeners, hint })
    }
  }
}

function send(listener: Listener, hint: Hint): void {
  try {
    listener(hint)
  } catch {
    // A hint is latency only: its owner's next tick finds the change, and the caller has nothing to do with it.
  }
}
