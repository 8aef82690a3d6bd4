import type { RunRecord, TokenRecord } from '../contract/records.ts'
import { itemsOf } from '../primitives/few.ts'
import type { BatchHandle, BatchItem, RunHandle, TriggerOptions } from '../api/run.ts'
import type {
  CompletedToken,
  LinkedToken,
  CreateTokenOptions,
  TokenReference,
  TransactionOptions,
} from '../api/token.ts'
import { type Attempt, currentAttempt } from './attempt/attempt.ts'
import { EndWatcher, type Watcher, Watchers } from './changes/watchers.ts'
import type { Engine } from './engine.ts'
import type { ClassOf } from './kernel.ts'
import { OnceEffects } from './namespaces/once.ts'
import { EngineTasks } from './namespaces/tasks.ts'
import { EngineWait } from './namespaces/wait.ts'
import { UnawaitedWaiter } from './waits/listener.ts'
import { Waiter } from './waits/waiter.ts'
import { Waitpoints } from './waits/waitpoints.ts'

/** An attempt, as code beside the engine sees it. */
export interface SeenAttempt {
  /** That of its run. */
  readonly id: string
  readonly kernel: object
  readonly record: RunRecord
  /** No call of the attempt has an effect any more, though its function may go on. */
  readonly isEnded: boolean
  /** Its function has settled. */
  readonly isOver: boolean
  readonly streams: { readonly keys: readonly string[] } | undefined
}

/** A wait of an attempt, as its observer sees it. */
export interface SeenWait {
  /** Empty until it is known. */
  readonly tokenId: string
  /** The task has begun to await it. */
  readonly isAwaited: boolean
}

/** A reader of changes. */
export interface SeenReader {
  /** The first one is the run, also if its streams are followed. */
  readonly topics: readonly string[]
}

/** The calls that tokens and runs begin with, and that which answers tokens. */
export type ObservedCall = 'createToken' | 'completeToken' | 'trigger' | 'batchTrigger'

/** Is told what an engine does, by an engine that is created with it. */
export interface EngineObserver {
  /** Makes a call of a namespace, given its first argument, and answers its promise. */
  call?<Answer extends Promise<unknown>>(name: ObservedCall, argument: unknown, make: () => Answer): Answer
  /** What is done in place of the effect of `once` that a run calls. */
  effect?(key: string): (() => unknown) | undefined
  /** A task has asked a wait for its output alone. */
  unwrapped?(wait: SeenWait, output: Promise<unknown>): void
  /** A token was settled: the waits here are told next. */
  settled?(token: TokenRecord): void
  /** An attempt is over, and leaves these waits, beside signals and listeners, which no code awaits. */
  left?(attempt: SeenAttempt, waits: readonly SeenWait[]): void
  readerOpened?(reader: SeenReader): void
  /** `endedRun`: the run whose end the reader was told. */
  readerClosed?(reader: SeenReader, endedRun: string | undefined): void
  /** The engine closes: every reader is told. */
  closing?(): void
}

/** The observer of the engine that is being created: its parts take it, each when it is made. */
let creating: EngineObserver = {}

/** Creates an engine, at once, by classes whose parts tell an observer. */
export function observedBy(observer: EngineObserver, create: (classOf: ClassOf) => Engine): Engine {
  const before = creating
  creating = observer
  try {
    return create(observedClass)
  } finally {
    creating = before
  }
}

// Each class is a subclass of the one that it stands for.
const observedClass: ClassOf = (part) => (OBSERVED.get(part) as typeof part | undefined) ?? part

class ObservedWatchers extends Watchers {
  readonly #observer = creating

  override open<W extends Watcher>(watcher: W): W {
    this.#observer.readerOpened?.(watcher)
    return super.open(watcher)
  }

  override leave(topics: readonly string[], watcher: Watcher): void {
    this.#observer.readerClosed?.(watcher, watcher instanceof EndWatcher ? watcher.ended?.id : undefined)
    super.leave(topics, watcher)
  }

  override close(error: () => Error): Promise<void> {
    this.#observer.closing?.()
    return super.close(error)
  }
}

class ObservedWaitpoints extends Waitpoints {
  readonly #observer = creating

  override waiter<Result, Output>(
    attempt: Attempt,
    read: Waiter<Result, Output>['read'],
  ): Waiter<Result, Output> {
    return new ObservedWaiter(attempt, read, this.#observer)
  }

  override settled(token: TokenRecord): void {
    this.#observer.settled?.(token)
    super.settled(token)
  }

  override leave(attempt: Attempt): void {
    const waits = itemsOf(attempt.waits).filter((wait) => wait instanceof Waiter)
    const awaitable = waits.filter((wait) => !(wait instanceof UnawaitedWaiter))
    this.#observer.left?.(attempt, awaitable)
    super.leave(attempt)
  }
}

class ObservedWaiter<Result, Output> extends Waiter<Result, Output> {
  readonly #observer: EngineObserver

  constructor(attempt: Attempt, read: Waiter<Result, Output>['read'], observer: EngineObserver) {
    super(attempt, read)
    this.#observer = observer
  }

  override unwrap(): Promise<Output> {
    const output = super.unwrap()
    this.#observer.unwrapped?.(this, output)
    return output
  }
}

class ObservedEffects extends OnceEffects {
  readonly #observer = creating

  override run<Result>(key: string, effect: () => Result | Promise<Result>): Promise<Result> {
    // What cannot be called is refused.
    const isCall = currentAttempt() !== undefined && typeof effect === 'function'
    const other = isCall ? this.#observer.effect?.(key) : undefined
    // The result is of the type of the effect under this key, as that of a stored effect is.
    return super.run(key, (other as typeof effect | undefined) ?? effect)
  }
}

class ObservedWait extends EngineWait {
  readonly #observer = creating

  override createToken(options?: CreateTokenOptions): Promise<LinkedToken> {
    return made(this.#observer, ['createToken', options], () => super.createToken(options))
  }

  override completeToken(
    token: TokenReference,
    output?: unknown,
    options?: TransactionOptions,
  ): Promise<CompletedToken> {
    const make = (): Promise<CompletedToken> => super.completeToken(token, output, options)
    return made(this.#observer, ['completeToken', token], make)
  }
}

class ObservedTasks extends EngineTasks {
  readonly #observer = creating

  override trigger(id: string, payload?: unknown, options?: TriggerOptions): Promise<RunHandle<never>> {
    return made(this.#observer, ['trigger', id], () => super.trigger(id, payload, options))
  }

  override batchTrigger(id: string, items: readonly BatchItem<never>[]): Promise<BatchHandle<never>> {
    return made(this.#observer, ['batchTrigger', id], () => super.batchTrigger(id, items))
  }
}

const OBSERVED: ReadonlyMap<unknown, unknown> = new Map<unknown, unknown>([
  [Watchers, ObservedWatchers],
  [Waitpoints, ObservedWaitpoints],
  [OnceEffects, ObservedEffects],
  [EngineWait, ObservedWait],
  [EngineTasks, ObservedTasks],
])

function made<Answer extends Promise<unknown>>(
  observer: EngineObserver,
  [name, argument]: readonly [name: ObservedCall, argument: unknown],
  make: () => Answer,
): Answer {
  return observer.call === undefined ? make() : observer.call(name, argument, make)
}
