import { type AnyTask, type Engine, metadata, once, type Storage, streams, task, wait } from 'waitpoint'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import type { RunRecord, TokenRecord } from '../../src/contract/records.ts'
import { isFinal } from '../../src/contract/run-states.ts'
import { StorageUnavailableError } from '../../src/contract/storage-unavailable.ts'
import { createEngineOn, kernelOf } from '../../src/core/engine.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { isInMemory, steadyStorage } from './abandon.ts'
import { claimingMemory } from './claiming-memory.ts'
import { type Caller, Dice, LossyNetwork } from './lossy-network.ts'
import { resumingMemory } from './resuming-memory.ts'
import { type TurnClock, turnClock } from './turn-clock.ts'

/** How likely something is in a step. */
interface Chances {
  /** Of a call, to get lost. */
  readonly losses: number
  /** Of a hint, to get lost. */
  readonly lostHints: number
  readonly deaths: number
  /** That time passes the end of leases. */
  readonly leaps: number
  readonly cancels: number
}

const CALM: Chances = { losses: 0, lostHints: 0, deaths: 0, leaps: 0, cancels: 0.01 }
const WORLDS: readonly [Chances, ...Chances[]] = [
  CALM,
  { ...CALM, losses: 0.15, lostHints: 0.4 },
  { ...CALM, losses: 0.35 },
  { ...CALM, leaps: 0.03 },
  { losses: 0.1, lostHints: 0.3, deaths: 0.01, leaps: 0.02, cancels: 0.01 },
]

/** What the function of a run does, one after the other. `beside`: asks, and goes on until its end. */
const KINDS = ['ask', 'ask', 'beside', 'sleep', 'once', 'note', 'chunk', 'child', 'work'] as const
type Kind = (typeof KINDS)[number]

/** The tasks of programs, and how many runs of each may execute at once in all processes. */
const LIMITS: ReadonlyMap<string, number> = new Map([
  ['free', Infinity],
  ['one', 1],
  ['two', 2],
])

const LEASE_MS = 3_000
const LONGER_THAN_LEASE = [LEASE_MS + 1, 2 * LEASE_MS] as const
const MOMENTS = [1, 50, 300, 900] as const
const MOST_RUNS = 12
const KEPT = '999d'
/** Steps in which all ends, without faults: some hundred times what it takes. */
const MOST_STEPS = 10_000
const LAST_EVENTS = 80
const IS_GONE = 'the process is gone'

interface Process extends Caller {
  readonly engine: Engine
  readonly concurrency: number
}

/**
 * Processes on one storage with a lossy network between, and random programs: one start of a function for each claim, slots and
 * limits that are kept, and an end for each run that says what it should. All of it depends on the seed, but for the order in
 * which a server answers.
 */
export class RandomWorld {
  readonly #seed: number
  readonly #dice: Dice
  readonly #chances: Chances
  readonly #storage: Storage
  // Time passes although a call is out.
  readonly #clock: TurnClock = { ...turnClock(), hold: () => () => undefined }
  readonly #network: LossyNetwork
  readonly #tasks: readonly AnyTask[]
  #processes: readonly Process[] = []
  #begun = 0
  #isQuiet = false
  readonly #programs: (readonly Kind[])[] = []
  /** Attempts whose function was called. */
  readonly #starts = new Set<string>()
  /** What attempts saw as the result of an effect. */
  readonly #effects = new Map<string, string>()
  /** Functions that work until the world lets them go on. */
  readonly #working = new Set<() => void>()
  /** Requests of clients that were not answered. */
  readonly #requests = new Set<string>()
  readonly #asked = new Set<string>()
  readonly #acknowledged = new Map<string, string>()
  readonly #wrong: string[] = []
  readonly #events: string[] = []

  constructor(seed: number) {
    this.#seed = seed
    this.#dice = new Dice(seed)
    this.#chances = this.#dice.pick(WORLDS)
    // One that resumes a run with the settle of its token, or claims it with its insert, as that of Postgres does.
    const open = isInMemory()
      ? this.#dice.pick([steadyStorage, resumingMemory, claimingMemory])
      : steadyStorage
    this.#storage = open()
    this.#network = new LossyNetwork(this.#dice, (event) => this.#note(event))
    this.#tasks = this.#made()
    for (let left = 2 + this.#dice.below(2); left > 0; left -= 1) this.#begin()
  }

  /** So many steps with faults; then all runs end. Answers what has happened. */
  async live(
    steps: number,
  ): Promise<{ readonly runs: number; readonly lost: number; readonly leases: number }> {
    try {
      await this.#storage.open()
      for (let left = steps; left > 0; left -= 1) await this.#step(() => this.#act())
      this.#isQuiet = true
      for (let left = MOST_STEPS; !(await this.#isOver()); left -= 1) {
        if (left === 0) throw new Error(`runs have no end: ${(await this.#left()).join('; ')}`)
        await this.#step(() => this.#goOn())
      }
      await this.#judge()
      const { lost, lostLeases } = this.#network
      return { runs: this.#programs.length, lost, leases: lostLeases }
    } catch (error) {
      const story = this.#events.slice(-LAST_EVENTS).join('\n')
      throw new Error(`World ${this.#seed}: ${String(error)}\n${story}`, { cause: error })
    } finally {
      for (const process of this.#processes) process.isGone = true
    }
  }

  #made(): readonly AnyTask[] {
    const leaf = task({
      id: 'leaf',
      run: async (isSlow: boolean, { ctx }) => {
        this.#start(ctx.run.id, ctx.attempt.number)
        if (isSlow) await wait.for({ seconds: 5 })
        return 'leaf'
      },
    })
    const programs = [...LIMITS].map(([id, limit]) =>
      task({
        id,
        ...(limit === Infinity ? {} : { queue: { concurrencyLimit: limit } }),
        run: async (number: number, { ctx }) => {
          this.#start(ctx.run.id, ctx.attempt.number)
          const said: unknown[] = []
          const beside: Promise<unknown>[] = []
          for (const [at, kind] of (this.#programs[number] ?? []).entries()) {
            const place = `${number} ${at}`
            if (kind === 'beside') beside.push(handled(ask(place)))
            else if (kind === 'ask') said.push(await ask(place))
            else if (kind === 'child') said.push(await leaf.triggerAndWait(at % 2 === 0).unwrap())
            else if (kind === 'once')
              said.push(this.#saw(place, await once(place, () => `${ctx.attempt.number}`)))
            else await this.#do(kind, place)
          }
          return [...said, ...(await Promise.all(beside))]
        },
      }),
    )
    return [leaf, ...programs]
  }

  async #do(kind: Kind, place: string): Promise<void> {
    if (kind === 'sleep') await wait.for({ seconds: 5 })
    else if (kind === 'note') metadata.set(place, true)
    else if (kind === 'chunk') await streams.append('words', place)
    else await new Promise<void>((resolve) => void this.#working.add(resolve))
  }

  #start(runId: string, attempt: number): void {
    const start = `${runId} in attempt ${attempt}`
    this.#note(`${start} starts`)
    if (this.#starts.has(start)) this.#wrong.push(`${start} starts twice`)
    this.#starts.add(start)
  }

  #saw(place: string, result: string): string {
    const before = this.#effects.get(place) ?? result
    this.#effects.set(place, before)
    if (before !== result) this.#wrong.push(`the effect of ${place} has two results`)
    return `effect of ${place}`
  }

  #note(event: string): void {
    this.#events.push(`${this.#clock.now()} ${event}`)
  }

  #begin(): void {
    const dice = this.#dice
    const name = `process ${(this.#begun += 1)}`
    const concurrency = dice.pick([1, 2, 3, 8])
    const caller: Caller = { name, isGone: false }
    const hears = (): boolean => this.#isQuiet || !dice.happens(this.#chances.lostHints)
    const storage = this.#network.storageFor(caller, this.#storage, hears)
    const clock: TurnClock = {
      ...this.#clock,
      setTimer: (at, fire) => this.#clock.setTimer(at, () => (caller.isGone ? undefined : fire())),
    }
    const random = seededRandom(`${this.#seed} ${name}`)
    const options = { tasks: this.#tasks, leaseMs: LEASE_MS, concurrency, maxInterruptions: 1_000 }
    const engine = createEngineOn({ clock, storage, random }, { ...options, retention: { maxAge: KEPT } })
    engine.on('error', () => undefined)
    engine.ready().catch(() => undefined)
    this.#note(`${name} begins with ${concurrency} slots`)
    this.#processes = [...this.#processes, Object.assign(caller, { engine, concurrency })]
  }

  async #step(act: () => Promise<void>): Promise<void> {
    await act()
    await this.#clock.settle()
    await this.#check()
    const [wrong] = this.#wrong
    if (wrong !== undefined) throw new Error(wrong)
  }

  async #act(): Promise<void> {
    const dice = this.#dice
    const { deaths, leaps, cancels, losses } = this.#chances
    const chance = dice.below(20)
    if (dice.happens(deaths)) this.#die()
    else if (dice.happens(leaps)) await this.#clock.advance(dice.pick(LONGER_THAN_LEASE))
    else if (dice.happens(cancels)) await this.#cancel()
    else if (chance === 0) this.#trigger()
    else if (chance < 3) await this.#answer()
    else if (chance === 3) this.#letOneWork()
    else if (chance === 4) this.#network.arriveLate()
    else if (chance < 7 || !this.#network.step(losses)) await this.#clock.advance(dice.pick(MOMENTS))
  }

  /** No fault any more: all that is out is answered, and engines that could not open do. */
  async #goOn(): Promise<void> {
    for (const { engine } of this.#processes) engine.ready().catch(() => undefined)
    this.#network.deliverAll()
    this.#network.arriveLate()
    this.#letOneWork()
    await this.#answer()
    await this.#clock.advance(300)
  }

  #letOneWork(): void {
    const [goOn] = this.#working
    if (goOn === undefined) return
    this.#working.delete(goOn)
    goOn()
  }

  #die(): void {
    const process = this.#dice.pick(this.#processes)
    if (process === undefined) return
    this.#note(`${process.name} dies`)
    process.isGone = true
    this.#processes = this.#processes.filter((one) => one !== process)
    this.#network.drop(process)
    this.#begin()
  }

  #trigger(): void {
    const { length: number } = this.#programs
    if (number === MOST_RUNS) return
    this.#programs.push(Array.from({ length: 1 + this.#dice.below(4) }, () => this.#dice.pick(KINDS)))
    const id = this.#dice.pick([...LIMITS.keys()]) ?? ''
    const options = {
      priority: this.#dice.pick([0, 10]),
      idempotencyKey: `${number}`,
      idempotencyKeyTTL: KEPT,
    }
    this.#note(`a client triggers ${id} ${number}: ${this.#programs[number]?.join(', ')}`)
    void this.#request((engine) => engine.tasks.trigger(id, number, options))
  }

  async #answer(): Promise<void> {
    const token = this.#dice.pick((await this.#tokens('WAITING')).filter(({ id }) => !this.#asked.has(id)))
    if (token === undefined) return
    this.#asked.add(token.id)
    const output = answerTo(token)
    this.#note(`a client answers ${token.id}`)
    void this.#request((engine) => engine.wait.completeToken(token.id, output)).then(() =>
      this.#acknowledged.set(token.id, JSON.stringify(output)),
    )
  }

  async #cancel(): Promise<void> {
    const run = this.#dice.pick((await this.#runs()).filter(({ status }) => !isFinal(status)))
    if (run === undefined) return
    this.#note(`a client cancels ${run.id}`)
    void this.#request((engine) => engine.runs.cancel(run.id))
  }

  /** A client makes its request again, of another process if that is gone. */
  async #request<T>(call: (engine: Engine) => Promise<T>): Promise<void> {
    const request = `${this.#requests.size} ${this.#clock.now()}`
    this.#requests.add(request)
    for (let isAnswered = false; !isAnswered;) {
      isAnswered = await this.#try(call)
      if (!isAnswered) await this.#pause(100)
    }
    this.#requests.delete(request)
  }

  async #try<T>(call: (engine: Engine) => Promise<T>): Promise<boolean> {
    const process = this.#dice.pick(this.#processes)
    if (process === undefined) return false
    try {
      await this.#unlessGone(process, call(process.engine))
      return true
    } catch (error) {
      const isRepeated = error instanceof StorageUnavailableError || error === IS_GONE
      if (!isRepeated) this.#wrong.push(`the request of a client failed: ${String(error)}`)
      return !isRepeated
    }
  }

  async #unlessGone<T>(process: Process, call: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = createDeferred<T>()
    call.then(resolve, reject)
    for (let isPending = true; isPending;) {
      if (process.isGone) reject(IS_GONE)
      isPending = await Promise.race([promise.then(() => false), this.#pause(500).then(() => true)])
    }
    return promise
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.setTimer(this.#clock.now() + ms, resolve))
  }

  /** Slots and limits are kept, and what executes is stored so. */
  async #check(): Promise<void> {
    const executing = new Map<string, number>()
    for (const { name, engine, concurrency } of this.#processes) {
      const { executing: used } = engine.stats()
      if (used > concurrency) this.#wrong.push(`${name} has ${used} runs in ${concurrency} slots`)
      for (const { status, taskId, id } of await this.#executedBy(engine)) {
        if (status === 'WAITING') this.#wrong.push(`${id} executes, and is stored as WAITING`)
        executing.set(taskId, (executing.get(taskId) ?? 0) + 1)
      }
    }
    for (const [id, count] of executing)
      if (count > (LIMITS.get(id) ?? Infinity)) this.#wrong.push(`${count} runs of ${id} execute at once`)
  }

  /** The runs whose functions execute in an engine that has not lost them, as they are stored. */
  async #executedBy(engine: Engine): Promise<readonly RunRecord[]> {
    const { executor, host } = kernelOf(engine)
    const executed: RunRecord[] = []
    for (const [id, attempt] of executor.attempts.entries()) {
      const stored = attempt.is('executing') ? await this.#storage.runs.get(id) : undefined
      if (stored?.owner !== host.owner || stored.epoch !== attempt.record.epoch) continue
      // The function has returned, as storage knows and the engine does not.
      const hasReturned = isFinal(stored.status) || (stored.status === 'EXECUTING' && !stored.slot)
      if (!hasReturned && attempt.is('executing')) executed.push(stored)
    }
    return executed
  }

  async #runs(): Promise<readonly RunRecord[]> {
    const { records } = await this.#storage.runs.list({ taskIds: [...LIMITS.keys()] }, { limit: 100 })
    return records
  }

  async #tokens(status?: TokenRecord['status']): Promise<readonly TokenRecord[]> {
    const filter = { kind: 'MANUAL', ...(status === undefined ? {} : { status: [status] }) } as const
    return (await this.#storage.tokens.list(filter, { limit: 1_000 }, this.#clock.now())).records
  }

  async #isOver(): Promise<boolean> {
    const { records } = await this.#storage.runs.list({}, { limit: 1_000 })
    return this.#requests.size === 0 && records.every(({ status }) => isFinal(status))
  }

  async #left(): Promise<readonly string[]> {
    const { records } = await this.#storage.runs.list({}, { limit: 1_000 })
    const runs = records.filter(({ status }) => !isFinal(status))
    return [
      ...runs.map(({ id, status, owner, payloadJson }) => `${id} (${payloadJson}) is ${status} at ${owner}`),
      ...this.#processes.map(({ name, engine }) => `${name} has ${JSON.stringify(engine.stats())}`),
      `requests: ${this.#requests.size}`,
    ]
  }

  /** Every run has ended as its program says, and nothing that was acknowledged is lost. */
  async #judge(): Promise<void> {
    const runs = await this.#runs()
    const tokens = await this.#tokens()
    const wrong: string[] = []
    const stored = new Map<string, string | undefined>()
    for (const { id } of tokens) stored.set(id, await this.#outputOf(id))
    for (const [id, output] of this.#acknowledged)
      if (stored.get(id) !== output) wrong.push(`the answer to ${id} is lost`)
    if (new Set(tokens.map(({ tags }) => tags.join())).size !== tokens.length)
      wrong.push('a question was asked twice')
    if (runs.length !== this.#programs.length)
      wrong.push(`${runs.length} runs of ${this.#programs.length} triggers`)
    for (const { id, status, outputJson, payloadJson } of runs) {
      const expected = JSON.stringify(this.#expected(Number(payloadJson), tokens))
      if (status !== 'CANCELED' && (status !== 'COMPLETED' || outputJson !== expected))
        wrong.push(`${id} is ${status} with ${outputJson}, not with ${expected}`)
    }
    if (wrong.length > 0) throw new Error(wrong.join('; '))
  }

  async #outputOf(id: string): Promise<string | undefined> {
    return (await this.#storage.tokens.get(id, this.#clock.now()))?.record.outputJson
  }

  #expected(number: number, tokens: readonly TokenRecord[]): readonly unknown[] {
    const said: unknown[] = []
    const beside: unknown[] = []
    for (const [at, kind] of (this.#programs[number] ?? []).entries()) {
      const place = `${number} ${at}`
      const answers = tokens.filter(({ tags }) => tags.includes(place)).map(answerTo)
      if (kind === 'ask') said.push(...answers)
      else if (kind === 'beside') beside.push(...answers)
      else if (kind === 'child') said.push('leaf')
      else if (kind === 'once') said.push(`effect of ${place}`)
    }
    return [...said, ...beside]
  }
}

/** The answer to the question of a place. */
async function ask(place: string): Promise<string> {
  const token = await wait.createToken({ timeout: KEPT, tags: [place] })
  return wait.forToken<string>(token).unwrap()
}

function answerTo({ id }: Pick<TokenRecord, 'id'>): string {
  return `answer to ${id}`
}

/** A promise that may be left behind. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}
