import type { LimitPlan, QueueCase, QueuePlan, RunPlan } from './queue-programs.ts'

/** The length of a period of every rate. */
export const PER_MS = 10_000
/** A canceled run holds its slot until its function settles, or for so long. */
const MOST_AFTER_CANCEL_MS = 5_000
/** Of so many slots one goes to a new run. */
const SHARE = 8

/** A run as the documents see it: who holds a slot, and who waits for one since when. */
export interface ModelRun {
  readonly number: number
  readonly plan: RunPlan
  readonly lane: string
  readonly queue: number
  /** Where it needs a slot: in its lane, and in those of its further limits. */
  readonly pools: readonly Pool[]
  readonly parent: ModelRun | undefined
  readonly expiresAt: number
  /** `parked`: all it does is wait. `ready`: it can go on. `canceled`: its function has not settled. */
  state: 'delayed' | 'queued' | 'executing' | 'parked' | 'ready' | 'canceled' | 'over'
  end: 'COMPLETED' | 'CANCELED' | 'EXPIRED' | undefined
  engine: number | undefined
  /** Since when it stands in line, less its priority. A run that is delayed: from then on. */
  at: number
  /** Which of two with one `at` comes first. */
  order: number
  hasBegun: boolean
  /** It is due, and stored as DELAYED until it begins. */
  wasDelayed: boolean
  isWaiting: boolean
  /** Effects and sources that are open. */
  open: number
  /** When its sleep ends, or its function has had enough time to settle. */
  dueAt: number | undefined
}

interface Pool {
  readonly id: string
  /** How a limit that it is of is called, if it is of one. */
  readonly limit: string | undefined
  /** How many runs may hold a slot of it. */
  readonly most: () => number
}

/** A limit that tasks share. */
interface Limit {
  readonly declared: LimitPlan
  isPaused: boolean
  limit: number | undefined
}

interface Queue {
  readonly declared: QueuePlan
  isPaused: boolean
  limit: number | undefined
  rate: number | undefined
}

interface Grant {
  readonly run: ModelRun
  readonly isNew: boolean
  /** Slots that runs which could go on had got in its engine since the last new one. */
  readonly since: number
}

interface Start {
  readonly at: number
  /** Under a rate: others are counted by none. */
  readonly isCounted: boolean
}

/**
 * What docs/queues-and-schedules.md says of slots. It is told of all that happens, and of each slot that an engine has given; it
 * says what is wrong with that, at once or when nothing goes on any more.
 */
export class QueueModel {
  readonly runs: ModelRun[] = []
  readonly wrong: string[] = []
  readonly queues: readonly Queue[]
  readonly limits: readonly Limit[]
  readonly #now: () => number
  /** So long it takes until each engine has heard of all that became possible by time alone. */
  readonly #lagMs: number
  readonly #engines: readonly { readonly concurrency: number; since: number; passed: number }[]
  readonly #starts = new Map<string, Start[]>()
  #arrived = 0
  /** Since the last quiet point: slots given, slots that became free, and the runs that stood in line before. */
  #grants: Grant[] = []
  #freed = 0
  #stood: ReadonlySet<ModelRun> = new Set()

  constructor(
    { queues, limits, engines }: Pick<QueueCase, 'queues' | 'limits' | 'engines'>,
    { now, lagMs }: { readonly now: () => number; readonly lagMs: number },
  ) {
    this.#lagMs = lagMs
    this.queues = queues.map((declared) => ({ declared, isPaused: false, limit: undefined, rate: undefined }))
    this.limits = limits.map((declared) => ({ declared, isPaused: false, limit: undefined }))
    this.#engines = engines.map((concurrency) => ({ concurrency, since: 0, passed: 0 }))
    this.#now = now
  }

  // What happens.

  /** @param at When it is due. */
  triggered(plan: RunPlan, at: number, parent?: ModelRun): ModelRun {
    const now = this.#now()
    const queue = plan.queue % this.queues.length
    const run: ModelRun = {
      number: this.runs.length,
      plan,
      lane: `${queue} ${plan.key}`,
      queue,
      pools: this.#poolsOf(queue, plan),
      parent,
      expiresAt: plan.ttl === undefined ? Infinity : at + plan.ttl * 1_000,
      state: at > now ? 'delayed' : 'queued',
      end: undefined,
      engine: undefined,
      at: at - plan.priority * 1_000,
      order: (this.#arrived += 1),
      hasBegun: false,
      wasDelayed: at > now,
      isWaiting: false,
      open: 0,
      dueAt: at > now ? at : undefined,
    }
    this.runs.push(run)
    return run
  }

  /** The function goes on in an engine: it has a slot, from before or from now on. */
  goesOn(run: ModelRun, engine: number): void {
    if (run.state === 'executing' || run.state === 'canceled' || run.state === 'over') return
    const isNew = run.state === 'queued'
    if (!isNew && run.state !== 'ready') this.#say(run, `goes on, and is ${run.state}`)
    if (!isNew && run.engine !== engine) this.#say(run, `goes on in engine ${engine}, not ${run.engine}`)
    if (this.#used(engine) >= this.#concurrency(engine)) this.#say(run, `has no slot in engine ${engine}`)
    const { isPaused } = this.#queue(run)
    if (isPaused) this.#say(run, 'gets a slot of a queue that is paused')
    const full = run.pools.find((pool) => !this.#hasSlot(pool))
    if (full !== undefined) this.#say(run, `is beyond the limit of ${full.id}`)
    if (isNew && this.#now() >= run.expiresAt && !run.hasBegun) this.#say(run, 'has expired, and begins')
    if (isNew) this.#countStart(run)
    const of = this.#engines[engine]
    this.#grants.push({ run, isNew, since: of?.since ?? 0 })
    if (of !== undefined) of.since = isNew ? 0 : of.since + 1
    run.engine = engine
    run.hasBegun = true
    run.state = 'executing'
  }

  /** It has a wait that is not over. */
  waits(run: ModelRun, until?: number): void {
    run.isWaiting = true
    if (until !== undefined) run.dueAt = until
    this.#rest(run)
  }

  opens(run: ModelRun): void {
    run.open += 1
  }

  closes(run: ModelRun): void {
    run.open -= 1
    this.#rest(run)
  }

  /** What it waits for has come. */
  answered(run: ModelRun): void {
    if (!run.isWaiting) return
    run.isWaiting = false
    this.calls(run)
  }

  /** A parked run has an answer, or begins to work: it can go on. */
  calls(run: ModelRun): void {
    if (run.state !== 'parked') return
    run.dueAt = undefined
    this.#enter(run, 'ready', this.#now())
  }

  /** Its function has settled. */
  ended(run: ModelRun): void {
    if (run.state === 'canceled') this.#over(run, 'CANCELED')
    else if (run.state === 'executing') this.#over(run, 'COMPLETED')
    else if (run.state !== 'over') this.#say(run, `ends, and is ${run.state}`)
  }

  /** Its attempt has failed: it begins the next one later. */
  failed(run: ModelRun, retryAt: number): void {
    if (run.state !== 'executing') return this.ended(run)
    this.#freed += 1
    run.state = 'delayed'
    run.wasDelayed = true
    run.dueAt = retryAt
    run.at = retryAt - run.plan.priority * 1_000
    run.engine = undefined
  }

  canceled(run: ModelRun): void {
    if (run.state === 'over' || run.state === 'canceled') return
    run.isWaiting = false
    for (const child of this.runs) if (child.parent === run) this.canceled(child)
    if (run.state !== 'executing') {
      this.#over(run, 'CANCELED')
      return
    }
    run.state = 'canceled'
    run.dueAt = this.#now() + MOST_AFTER_CANCEL_MS
    if (run.parent !== undefined) this.answered(run.parent)
  }

  /** It is this instant now: what is due happens. */
  instant(): void {
    const now = this.#now()
    for (const run of this.runs) {
      if (run.dueAt !== undefined && run.dueAt <= now) {
        run.dueAt = undefined
        if (run.state === 'delayed') this.#enter(run, 'queued', now)
        else if (run.state === 'canceled') {
          // The slot of its engine and that of its queue, one after the other.
          this.#freed += 1
          this.#over(run, 'CANCELED')
        } else this.answered(run)
      }
      if (run.state === 'queued' && !run.hasBegun && run.expiresAt <= now) this.#over(run, 'EXPIRED')
    }
  }

  /** When something is due next, or an engine may be expected to have heard of it. */
  next(): number {
    let next = Infinity
    for (const run of this.runs) {
      if (run.state === 'over') continue
      next = Math.min(next, run.dueAt ?? Infinity)
      if (run.state !== 'queued') continue
      if (!run.hasBegun) next = Math.min(next, run.expiresAt)
      const startAt = this.#startableAt(run)
      for (const at of [startAt, startAt + this.#lagMs]) if (at > this.#now()) next = Math.min(next, at)
    }
    return next
  }

  // What is told of it.

  standing(state: 'queued' | 'ready'): readonly ModelRun[] {
    return this.runs.filter((run) => run.state === state).toSorted(compare)
  }

  limitOf(run: ModelRun): number {
    const { limit, declared } = this.#queue(run)
    return limit ?? declared.limit ?? Infinity
  }

  /** The names of shared limits of a task. */
  limitsOf(queue: number): readonly number[] {
    const { shared = [] } = this.queues[queue]?.declared ?? {}
    return this.limits.length === 0 ? [] : [...new Set(shared.map((at) => at % this.limits.length))]
  }

  #poolsOf(queue: number, { key }: RunPlan): readonly Pool[] {
    const of = this.queues[queue]
    if (of === undefined) throw new Error(`no queue ${queue}`)
    const { own } = of.declared
    const lane = {
      id: `${queue} ${key}`,
      limit: undefined,
      most: () => of.limit ?? of.declared.limit ?? Infinity,
    }
    const both = (name: string, most: (kind: keyof LimitPlan) => number | undefined): readonly Pool[] => [
      { id: `all of ${name}`, limit: name, most: () => most('total') ?? Infinity },
      { id: `${key} of ${name}`, limit: name, most: () => most('perKey') ?? Infinity },
    ]
    return [
      lane,
      ...(own === undefined ? [] : both(`limit/task ${queue}`, (kind) => own[kind])),
      ...this.limitsOf(queue).flatMap((at) => both(`limit ${at}`, (kind) => this.#setOf(at, kind))),
    ]
  }

  /** A limit that is set is that of each key, unless only a total is declared. */
  #setOf(at: number, kind: keyof LimitPlan): number | undefined {
    const limit = this.limits[at]
    if (limit === undefined) return undefined
    const { declared, isPaused } = limit
    if (isPaused) return 0
    const setKind = declared.total !== undefined && declared.perKey === undefined ? 'total' : 'perKey'
    return kind === setKind ? (limit.limit ?? declared[kind]) : declared[kind]
  }

  /** The further limits that keep the run from going on. */
  fullLimits(run: ModelRun): readonly string[] {
    return run.pools.flatMap((pool) => (this.#hasSlot(pool) ? [] : (pool.limit ?? [])))
  }

  #hasSlot(pool: Pool): boolean {
    return this.#holders(pool.id).length < pool.most()
  }

  rateOf(run: ModelRun): number | undefined {
    const { rate, declared } = this.#queue(run)
    return rate ?? declared.rate
  }

  /** When the rate lets the next run start in the lane of this one. */
  nextStartAt(run: ModelRun): number {
    return Math.max(this.#now(), this.#startableAt(run))
  }

  /** Since when, or from when on, the rate lets it start. */
  #startableAt(run: ModelRun): number {
    const rate = this.rateOf(run)
    const last = rate === undefined ? undefined : this.#counted(run).at(-rate)
    return last === undefined ? -Infinity : last.at + PER_MS
  }

  holdersBeside(run: ModelRun): readonly ModelRun[] {
    return this.#holders(run.lane)
  }

  /** Those before it in its own lane. */
  aheadInLane(run: ModelRun): number {
    const line = this.standing('queued').filter(({ lane, wasDelayed }) => lane === run.lane && !wasDelayed)
    return line.filter((other) => isBefore(other, run)).length
  }

  /**
   * Those before it in its engine, with and without those that a limit holds back: an engine without a free slot has not asked for the
   * slots of a limit.
   */
  aheadInEngine(run: ModelRun): { readonly least: number; readonly most: number } {
    const line = this.standing('ready').filter(({ engine }) => engine === run.engine)
    const ahead = line.filter((other) => isBefore(other, run))
    return { least: ahead.filter((other) => this.#hasLimit(other)).length, most: ahead.length }
  }

  /** Whether its limits allow it to go on. */
  isOpen(run: ModelRun): boolean {
    return this.#hasLimit(run)
  }

  /** Whether the limit of its queue does. */
  isLaneOpen(run: ModelRun): boolean {
    return this.#holders(run.lane).length < this.limitOf(run)
  }

  hasRoom(engine: number): boolean {
    return this.#used(engine) < this.#concurrency(engine)
  }

  isPaused(run: ModelRun): boolean {
    return this.#queue(run).isPaused
  }

  used(engine: number): number {
    return this.#used(engine)
  }

  // What must be so.

  /** Nothing goes on any more at this instant. */
  quiet(): void {
    for (const run of this.standing('ready'))
      if (this.#mayGoOn(run, run.engine ?? 0)) this.#say(run, 'can go on, and there is a slot')
    for (const run of this.standing('queued'))
      if (this.#engines.some((_, engine) => this.#mayBegin(run, engine)))
        this.#say(run, 'is queued, and there is a slot')
    // Of several slots that became free one after the other the first went to runs that stood in line then.
    if (this.#freed <= 1) for (const grant of this.#grants) this.#judge(grant)
    this.#grants = []
    this.#freed = 0
    this.#stood = new Set(this.runs.filter(({ state }) => state === 'queued' || state === 'ready'))
  }

  /** The runs that would have come first, and still stand in line. */
  #judge({ run, isNew, since }: Grant): void {
    const engine = run.engine ?? 0
    // A child may have begun before its parent parked.
    const isEarly = this.#freed > 0 && !this.#stood.has(run)
    if (run.state !== 'executing' || isEarly) return
    const left = [...this.#stood].filter(({ state }) => state === 'queued' || state === 'ready')
    const [ready, fresh] = this.#without(run, isNew, () => [
      left.filter((other) => other.state === 'ready' && this.#mayGoOn(other, engine)),
      left.filter((other) => other.state === 'queued' && this.#mayBegin(other, engine)),
    ])
    const of = this.#engines[engine]
    if (of === undefined) return
    if (isNew) {
      of.passed = 0
      const passed = fresh.find((other) => isBefore(other, run))
      if (passed !== undefined) this.#say(run, `begins before run ${passed.number}`)
      if (ready.length > 0 && since < SHARE - 1)
        this.#say(run, `begins after ${since} slots for others, before run ${ready[0]?.number}`)
      return
    }
    const passed = ready.find((other) => isBefore(other, run))
    if (passed !== undefined) this.#say(run, `goes on before run ${passed.number}`)
    of.passed = fresh.length === 0 ? 0 : of.passed + 1
    if (of.passed >= SHARE)
      this.#say(run, `goes on as the ${of.passed}th, and run ${fresh[0]?.number} is new`)
  }

  /** As if the run had not got its slot. */
  #without<Answer>(run: ModelRun, isNew: boolean, ask: () => Answer): Answer {
    const start = isNew ? this.#starts.get(run.lane)?.pop() : undefined
    run.state = 'delayed'
    const answer = ask()
    run.state = 'executing'
    if (start !== undefined) this.#starts.get(run.lane)?.push(start)
    return answer
  }

  #mayGoOn(run: ModelRun, engine: number): boolean {
    return run.engine === engine && this.hasRoom(engine) && this.#hasLimit(run)
  }

  #hasLimit(run: ModelRun): boolean {
    return !this.#queue(run).isPaused && run.pools.every((pool) => this.#hasSlot(pool))
  }

  /** Certainly: runs that were refused a slot come first in all of their pools. */
  #mayBegin(run: ModelRun, engine: number): boolean {
    if (this.#queue(run).isPaused || !this.hasRoom(engine)) return false
    // The engine whose claim a rate has held back knows when it may start; others hear of it later.
    if (this.#startableAt(run) + this.#lagMs > this.#now()) return false
    const ready = this.runs.filter(({ state }) => state === 'ready')
    return run.pools.every(
      ({ id, most }) => this.#holders(id).length + ready.filter((other) => isIn(other, id)).length < most(),
    )
  }

  #countStart(run: ModelRun): void {
    const rate = this.rateOf(run)
    if (this.#startableAt(run) > this.#now()) this.#say(run, `is beyond the rate of ${run.lane}`)
    const starts = this.#starts.get(run.lane) ?? []
    this.#starts.set(run.lane, [...starts, { at: this.#now(), isCounted: rate !== undefined }])
  }

  #counted(run: ModelRun): readonly Start[] {
    return (this.#starts.get(run.lane) ?? []).filter(({ isCounted }) => isCounted)
  }

  #rest(run: ModelRun): void {
    if (run.state !== 'executing' || !run.isWaiting || run.open > 0) return
    this.#freed += 1
    run.state = 'parked'
  }

  #enter(run: ModelRun, state: 'queued' | 'ready', since: number): void {
    run.state = state
    run.at = since - run.plan.priority * 1_000
    run.order = this.#arrived += 1
  }

  #over(run: ModelRun, end: 'COMPLETED' | 'CANCELED' | 'EXPIRED'): void {
    const wasTold = run.state === 'canceled'
    if (this.#holds(run)) this.#freed += 1
    run.state = 'over'
    run.end = end
    run.dueAt = undefined
    if (run.parent !== undefined && !wasTold) this.answered(run.parent)
  }

  #holds({ state }: ModelRun): boolean {
    return state === 'executing' || state === 'canceled'
  }

  #holders(pool: string): readonly ModelRun[] {
    return this.runs.filter((run) => this.#holds(run) && isIn(run, pool))
  }

  #used(engine: number): number {
    return this.runs.filter((run) => run.engine === engine && this.#holds(run)).length
  }

  #concurrency(engine: number): number {
    return this.#engines[engine]?.concurrency ?? 0
  }

  #queue({ queue }: ModelRun): Queue {
    const found = this.queues[queue]
    if (found === undefined) throw new Error(`no queue ${queue}`)
    return found
  }

  #say({ number, lane }: ModelRun, what: string): void {
    this.wrong.push(`run ${number} of ${lane} ${what}`)
  }
}

function isIn({ pools }: ModelRun, id: string): boolean {
  return pools.some((pool) => pool.id === id)
}

/** Two that were put off, and are due at one instant, have no order. */
function isBefore(one: ModelRun, other: ModelRun): boolean {
  const hasOrder = one.state === 'ready' || !(one.wasDelayed || other.wasDelayed)
  return one.at < other.at || (one.at === other.at && hasOrder && one.order < other.order)
}

function compare(one: ModelRun, other: ModelRun): number {
  return one.at - other.at || one.order - other.order
}
