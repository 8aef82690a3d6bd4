import type { Unsubscribe } from '../../contract/storage.ts'
import type { CursorPage, CursorPagePromise } from '../../api/cursor-page.ts'
import type { AccessGrant, AccessTokenOptions } from '../../api/access.ts'
import type { QueueHandle, RetrievedQueue } from '../../api/queue.ts'
import type { SchedulesNamespace } from '../../api/schedule.ts'
import type { TimelineEntry, TimelineOptions } from '../../api/timeline.ts'
import type { CloseOptions, Engine, EngineStats } from '../../core/engine.ts'
import { inside, passFor } from '../../core/inside.ts'
import type { EngineEvents } from '../../core/changes/events.ts'
import type {
  AnyTask,
  RunHandle,
  RunOutcome,
  RunReference,
  EngineRunsNamespace,
  ForwardedTask,
  TaskOutput,
  TriggerArguments,
  TasksNamespace,
  DebounceOptions,
  TriggerOptions,
} from '../../api/run.ts'
import type { EngineStreamsNamespace, InputOptions, InputStream, SendInputOptions } from '../../api/input.ts'
import type { MetadataNamespace, ReadStreamOptions, StreamsNamespace } from '../../api/stream.ts'
import type { CreateTokenOptions, Duration, EngineWaitNamespace, TokenReference } from '../../api/token.ts'
import { InjectedFault } from './boundaries.ts'
import { mortal } from './mortal-iterable.ts'
import type { Life, World } from './world.ts'

export interface SurvivingEngineOptions {
  /** Whether calls may be repeated, so that created objects need a key. */
  readonly mayRepeat: boolean
  /** The name of the engine. */
  readonly name: string
}

/** The options of every call that creates something. */
interface Keys {
  readonly idempotencyKey?: string
  readonly idempotencyKeyTTL?: Duration
  readonly debounce?: DebounceOptions
}

const KEY_TTL = '1000 years'

/**
 * The engine of an exploration as its body sees it: a client that retries. A call that a crash cut off, or that a fault
 * failed, is repeated on the current engine. Handles continue on a new engine.
 *
 * A class with getters, as an object with getters of its own would keep the whole schedule until a full collection: V8 makes a
 * shape for each of them.
 */
export class SurvivingEngine implements Engine {
  readonly #world: World
  readonly #mayRepeat: boolean
  readonly #name: string
  /** Made when they are asked for: most bodies need one of them, in a thousand schedules. */
  #wait: EngineWaitNamespace | undefined
  #runs: EngineRunsNamespace | undefined
  #tasks: TasksNamespace | undefined
  #streams: EngineStreamsNamespace | undefined
  #calls = 0

  constructor(world: World, { mayRepeat, name }: SurvivingEngineOptions) {
    this.#world = world
    this.#mayRepeat = mayRepeat
    this.#name = name
    passFor(this, () => this.#current)
  }

  get #life(): Life {
    return this.#world.lifeOf(this.#name)
  }

  get #current(): Engine {
    return this.#life.engine
  }

  get wait(): EngineWaitNamespace {
    return (this.#wait ??= this.#survivingWait())
  }

  get runs(): EngineRunsNamespace {
    return (this.#runs ??= this.#survivingRuns())
  }

  get tasks(): TasksNamespace {
    return (this.#tasks ??= this.#survivingTasks())
  }

  get streams(): EngineStreamsNamespace {
    return (this.#streams ??= this.#survivingStreams())
  }

  get metadata(): MetadataNamespace {
    return this.#current.metadata
  }

  get schedules(): SchedulesNamespace {
    return this.#current.schedules
  }

  queue(name: string): QueueHandle {
    return this.#current.queue(name)
  }

  queues(): Promise<readonly RetrievedQueue[]> {
    return this.survive((engine) => engine.queues())
  }

  trigger<Task extends AnyTask>(
    task: Task,
    ...given: TriggerArguments<Task>
  ): Promise<RunHandle<TaskOutput<Task>>>
  async trigger(task: ForwardedTask, payload?: unknown, options?: TriggerOptions): Promise<RunHandle<never>> {
    const keyed = this.#keyed(options)
    return this.#handle(await this.survive((engine) => engine.trigger(task, payload, keyed)))
  }

  createAccessToken(grant: AccessGrant, options?: AccessTokenOptions): Promise<string> {
    return this.survive((engine) => engine.createAccessToken(grant, options))
  }

  ready(): Promise<void> {
    return this.survive((engine) => engine.ready())
  }

  stats(): EngineStats {
    return this.#current.stats()
  }

  timeline(options?: TimelineOptions): Promise<readonly TimelineEntry[]> {
    return this.survive((engine) => engine.timeline(options))
  }

  close(options?: CloseOptions): Promise<void> {
    return this.#current.close(options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#current.close()
  }

  /** Repeats a call until it is answered. */
  async survive<T>(call: (engine: Engine) => Promise<T>): Promise<T> {
    for (;;) {
      const restarting = this.#world.restarted(this.#name)
      if (restarting !== undefined) await restarting
      const { engine, process } = this.#life
      try {
        const answer = await process.answerTo(call(engine))
        if (answer !== undefined) return answer.value
      } catch (error) {
        if (!(error instanceof InjectedFault)) throw error
      }
    }
  }

  /**
   * Adds an idempotency key, as a careful client would, so that a repeated call creates nothing twice. The key lives as
   * long as the schedule: any amount of time may pass before the call is repeated. A trigger with `debounce` has no such key,
   * and counts twice if it is repeated.
   */
  #keyed<Options extends Keys>(options?: Options): Options | undefined {
    if (!this.#mayRepeat || options?.idempotencyKey !== undefined || options?.debounce !== undefined)
      return options
    const caller = this.#name === 'engine' ? 'body' : this.#name
    const idempotencyKey = `${caller} ${(this.#calls += 1)}`
    // All of these options are optional.
    return { ...options, idempotencyKey, idempotencyKeyTTL: KEY_TTL } as Options
  }

  /** A message that is sent again is accepted once, by a key. */
  #sentOnce(options?: SendInputOptions): SendInputOptions | undefined {
    if (!this.#mayRepeat || options?.idempotencyKey !== undefined) return options
    return { ...options, idempotencyKey: `${this.#name} ${(this.#calls += 1)}` }
  }

  #handle<Output>(handle: RunHandle<Output>): RunHandle<Output> {
    const { process } = this.#life
    const now = async (engine: Engine): Promise<RunHandle<Output>> => {
      if (!process.isDead) return handle
      const record = await this.#world.storage.runs.get(handle.id)
      if (record === undefined) return handle
      // It is the same run, so the output has the same type.
      return inside(engine).runs.handle<Output>({ record, isCached: handle.isCached })
    }
    return new SurvivingHandle(handle, {
      result: () => this.survive(async (engine) => (await now(engine)).result()),
      outcome: () => this.survive(async (engine) => assertKnown(await (await now(engine)).outcome())),
    })
  }

  #survivingWait(): EngineWaitNamespace {
    const current = (): EngineWaitNamespace => this.#life.engine.wait
    return {
      createToken: (options?: CreateTokenOptions) => {
        const keyed = this.#keyed(options)
        return this.survive((engine) => engine.wait.createToken(keyed))
      },
      completeToken: (token, output, options) =>
        this.survive((engine) => engine.wait.completeToken(token, output, options)),
      withdrawToken: (token, options) => this.survive((engine) => engine.wait.withdrawToken(token, options)),
      extendToken: (token, timeout) => this.survive((engine) => engine.wait.extendToken(token, timeout)),
      reassignToken: (token, approvers, options) =>
        this.survive((engine) => engine.wait.reassignToken(token, approvers, options)),
      retrieveToken: (token) => this.survive((engine) => engine.wait.retrieveToken(token)),
      listTokens: (params = {}) =>
        this.#list((engine, after) =>
          engine.wait.listTokens(after === undefined ? params : { ...params, after }),
        ),
      countTokens: (params) => this.survive((engine) => engine.wait.countTokens(params)),
      subscribeToToken: <Output>(token: TokenReference) =>
        mortal(current().subscribeToToken<Output>(token), this.#life.process),
      subscribeToTokens: (params) => mortal(current().subscribeToTokens(params), this.#life.process),
      forToken: (token, options) => current().forToken(token, options),
      signal: <Output>(token: TokenReference) => current().signal<Output>(token),
      for: (options) => current().for(options),
      until: (options) => current().until(options),
    }
  }

  #survivingRuns(): EngineRunsNamespace {
    return {
      retrieve: <Task extends AnyTask, Reference extends RunReference>(run: Reference) =>
        this.survive((engine) => engine.runs.retrieve<Task, Reference>(run)),
      poll: <Task extends AnyTask, Reference extends RunReference>(run: Reference) =>
        this.survive((engine) => engine.runs.poll<Task, Reference>(run)),
      cancel: (run) => this.survive((engine) => engine.runs.cancel(run)),
      replay: async (run) => this.#handle(await this.survive((engine) => engine.runs.replay(run))),
      continueWith: (run) => this.survive((engine) => engine.runs.continueWith(run)),
      counts: (params) => this.survive((engine) => engine.runs.counts(params)),
      explain: (run) => this.survive((engine) => engine.runs.explain(run)),
      addTags: (run, tags) => this.survive((engine) => engine.runs.addTags(run, tags)),
      resetIdempotencyKey: (taskId, key) =>
        this.survive((engine) => engine.runs.resetIdempotencyKey(taskId, key)),
      reschedule: (run, options) => this.survive((engine) => engine.runs.reschedule(run, options)),
      list: (params = {}) =>
        this.#list((engine, after) => engine.runs.list(after === undefined ? params : { ...params, after })),
      subscribeToRun: <Task extends AnyTask, Reference extends RunReference>(run: Reference) => {
        const { engine, process } = this.#life
        const subscription = engine.runs.subscribeToRun<Task, Reference>(run)
        return {
          ...mortal(subscription, process),
          withStreams: <Streams = Readonly<Record<string, unknown>>>() =>
            mortal(subscription.withStreams<Streams>(), process),
        }
      },
    }
  }

  #survivingTasks(): TasksNamespace {
    const current = (): TasksNamespace => this.#life.engine.tasks
    return {
      trigger: async (id: string, payload?: unknown, options?: TriggerOptions) => {
        const keyed = this.#keyed(options)
        return this.#handle(
          await this.survive((engine) => engine.tasks.trigger<ForwardedTask>(id, payload, keyed)),
        )
      },
      batchTrigger: async (id, items) => {
        const keyed = items.map((item) => ({ ...item, ...optional(this.#keyed(item.options)) }))
        const { runs } = await this.survive((engine) => engine.tasks.batchTrigger(id, keyed))
        return { runs: runs.map((run) => this.#handle(run)) }
      },
      triggerAndWait: (id: string, payload?: unknown, options?: TriggerOptions) =>
        current().triggerAndWait<ForwardedTask>(id, payload, options),
      batchTriggerAndWait: (id, items) => current().batchTriggerAndWait(id, items),
    }
  }

  #survivingStreams(): EngineStreamsNamespace {
    const current = (): EngineStreamsNamespace => this.#life.engine.streams
    const read: StreamsNamespace['read'] = <Chunk>(...args: Parameters<StreamsNamespace['read']>) =>
      mortal(current().read<Chunk>(...args), this.#life.process)
    return {
      define: <Chunk>({ id }: { readonly id: string }) => ({
        ...current().define<Chunk>({ id }),
        read: (run: RunReference, options?: ReadStreamOptions) => read<Chunk>(run, id, options),
      }),
      input: <Input>(options: InputOptions<Input>): InputStream<Input> => ({
        ...current().input<Input>(options),
        send: (run, data, given) => {
          const keyed = this.#sentOnce(given)
          return this.survive((engine) => engine.streams.input<Input>(options).send(run, data, keyed))
        },
      }),
      pipe: (key, source, options) => current().pipe(key, source, options),
      append: (key, chunk) => current().append(key, chunk),
      read,
    }
  }

  #list<Item>(load: (engine: Engine, after?: string) => CursorPagePromise<Item>): CursorPagePromise<Item> {
    const first = this.survive<CursorPage<Item>>((engine) => load(engine))
    // When iterated, not awaited, the iterator rejects.
    first.catch(() => undefined)
    const next = (after: string): Promise<CursorPage<Item>> => this.survive((engine) => load(engine, after))
    return Object.assign(first, {
      async *[Symbol.asyncIterator]() {
        for (let page = await first; ; page = await next(page.pagination.next)) {
          yield* page.data
          if (page.pagination.next === undefined) return
        }
      },
    })
  }

  on<Name extends keyof EngineEvents>(name: Name, listener: EngineEvents[Name]): Unsubscribe {
    let isOn = true
    let remove = this.#life.engine.on(name, listener)
    this.#world.onRestart(this.#name, (engine) => {
      if (isOn) remove = engine.on(name, listener)
    })
    return () => {
      isOn = false
      remove()
    }
  }

  makeDefault(): Unsubscribe {
    let isDefault = true
    let remove = this.#life.engine.makeDefault()
    this.#world.onRestart(this.#name, (engine) => {
      if (!isDefault) return
      remove()
      remove = engine.makeDefault()
    })
    return () => {
      isDefault = false
      remove()
    }
  }
}

let accessTokenProperty: PropertyDescriptor

/** The handle of a run that continues on a new engine. */
class SurvivingHandle<Output> implements RunHandle<Output> {
  readonly id: string
  readonly isCached: boolean
  declare readonly publicAccessToken: string
  readonly result: () => Promise<Output>
  readonly outcome: () => Promise<RunOutcome<Output>>
  readonly #handle: RunHandle<Output>

  constructor(handle: RunHandle<Output>, { result, outcome }: Pick<RunHandle<Output>, 'result' | 'outcome'>) {
    this.id = handle.id
    this.isCached = handle.isCached
    this.#handle = handle
    this.result = result
    this.outcome = outcome
    Object.defineProperty(this, 'publicAccessToken', accessTokenProperty)
  }

  static {
    accessTokenProperty = {
      enumerable: true,
      get(this: SurvivingHandle<unknown>) {
        return this.#handle.publicAccessToken
      },
    }
  }
}

/** An outcome that a fault has hidden is asked for again, as a result is. */
function assertKnown<Output>(outcome: RunOutcome<Output>): RunOutcome<Output> {
  if (!outcome.ok && outcome.error.cause instanceof InjectedFault) throw outcome.error.cause
  return outcome
}

function optional<Options>(options: Options | undefined): { options?: Options } {
  return options === undefined ? {} : { options }
}
