import type { CreateScheduleOptions, ScheduleChange, TaskSchedule } from '../../api/schedule.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { ScheduleList, SchedulePut, ScheduleStore, Storage } from '../../contract/storage.ts'
import { KeyedTurns } from '../../primitives/keyed-turns.ts'
import { requireName } from '../../primitives/require.ts'
import type { ScheduledDefinition } from '../../api/task-definition.ts'
import { fenceOf } from '../attempt/attempt.ts'
import { OTHERS_TOPIC } from '../changes/publisher.ts'
import type { RepeatableCall } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { changed, type CreatedSchedule, inForce, readCreated, replaced } from './created-schedule.ts'
import { ScheduleTimer, type StoreScheduled, type TimedSchedule, type TimerTools } from './schedule-timer.ts'

const GET: RepeatableCall<string, string | undefined> = {
  ask: (storage, id) => storeOf(storage).get(id),
}

const LIST: RepeatableCall<string | undefined, ScheduleList | undefined> = {
  ask: (storage, known) => storage.schedules?.list(known),
}

const PUT: RepeatableCall<SchedulePut, boolean | 'stale'> = {
  takesNoSlot: true,
  ask: (storage, request) => storeOf(storage).put(request),
  again: async (storage, request) => {
    const store = storeOf(storage)
    return (await store.put(request)) || (await store.get(request.id)) === request.text
  },
}

/** A schedule that was created, and its timer. */
interface Entry {
  readonly text: string
  readonly created: CreatedSchedule
  readonly timer: ScheduleTimer
}

/** The schedules of one engine: those of its tasks, and those that storage has, each with a timer. */
export class ScheduleBook {
  readonly #kernel: Kernel
  readonly #tools: TimerTools
  readonly #declared: readonly ScheduleTimer[]
  /** What the engine knows of those that were created, by their ids. */
  #created: ReadonlyMap<string, Entry> = new Map()
  #revision: string | undefined
  /** One after the other: an older list must not take the place of a newer one. */
  readonly #turns: KeyedTurns = new KeyedTurns()
  /** A look that has not begun. */
  #next: Promise<void> | undefined
  /** From now on, runs are triggered. */
  #isStarted = false

  constructor(kernel: Kernel, store: StoreScheduled) {
    this.#kernel = kernel
    this.#tools = { kernel, store }
    this.#declared = kernel.tasks.scheduled.flatMap((task) => this.#declaredBy(task))
  }

  /** Triggers runs from now on, and those that were missed. It may be called again after it has failed. */
  async start(): Promise<void> {
    await this.look()
    // What is created meanwhile is begun with.
    this.#isStarted = true
    const created = Array.from(this.#created.values()).filter((entry) => this.#triggers(entry))
    const timers = [...this.#declared, ...created.map(({ timer }) => timer)]
    const marks = await this.#kernel.host.storage.runs.marks(timers.map(({ schedule: { scope } }) => scope))
    const sinces: number[] = []
    for (const timer of this.#declared) sinces.push(await this.#firstSeen(timer))
    for (const entry of created) sinces.push(entry.created.since)
    for (const [at, timer] of timers.entries()) timer.start(sinces[at] ?? 0, marks[at])
    for (const timer of timers) await timer.work()
  }

  stop(): void {
    for (const timer of this.#declared) timer.stop()
    for (const { timer } of this.#created.values()) timer.stop()
  }

  /** Takes over what other engines have changed. */
  look(): Promise<void> {
    return (this.#next ??= this.#turns.take('', () => {
      this.#next = undefined
      return this.#read()
    }))
  }

  async list(): Promise<readonly TaskSchedule[]> {
    // Not the look of another caller, which may be a run that is canceled.
    await this.#turns.take('', () => this.#read())
    const created = Array.from(this.#created.values()).sort(
      (one, other) => one.created.createdAt - other.created.createdAt,
    )
    return [...this.#declared, ...created.map(({ timer }) => timer)].map(({ view }) => view)
  }

  async retrieve(name: string): Promise<TaskSchedule> {
    const declared = this.#declaredAs(name)
    if (declared !== undefined) return declared.view
    const text = this.#kernel.host.storage.schedules && (await this.#kernel.asked(GET, name))
    if (text === undefined) throw scheduleNotFound(name)
    return this.#timer(read(text)).view
  }

  create(options: CreateScheduleOptions): Promise<TaskSchedule> {
    const { host, tasks } = this.#kernel
    const created = readCreated(options, tasks, host.now())
    return this.#put(created.id, (before) => (before === undefined ? created : replaced(before, created)))
  }

  update(name: string, change: ScheduleChange): Promise<TaskSchedule> {
    const { host, tasks } = this.#kernel
    const now = host.now()
    return this.#put(name, (before) => changed(this.#found(name, before), change, { tasks, now }))
  }

  setActive(name: string, isActive: boolean): Promise<TaskSchedule> {
    const since = this.#kernel.host.now()
    return this.#put(name, (before) => {
      const found = this.#found(name, before)
      return inForce(found, { ...found, isActive, since })
    })
  }

  async del(name: string): Promise<{ readonly id: string }> {
    await this.#change(name, (before) => {
      this.#found(name, before)
      return undefined
    })
    return { id: name }
  }

  async #put(
    id: string,
    next: (before: CreatedSchedule | undefined) => CreatedSchedule,
  ): Promise<TaskSchedule> {
    let after: CreatedSchedule | undefined
    await this.#change(id, (before) => (after = next(before)))
    return this.#timer(after as CreatedSchedule).view
  }

  /** Stores what becomes of a schedule; `next` is called again when it was changed meanwhile. */
  #change(
    id: string,
    next: (before: CreatedSchedule | undefined) => CreatedSchedule | undefined,
  ): Promise<void> {
    requireName(id, 'the id of the schedule')
    const scope = this.#kernel.attempt()
    return this.#turns.take('', async () => {
      const { host } = this.#kernel
      for (;;) {
        const expected = await this.#kernel.asked(GET, id)
        const after = next(expected === undefined ? undefined : read(expected))
        const text = after === undefined ? undefined : JSON.stringify(after)
        const request = { id, expected, text, fence: fenceOf(scope), by: host.owner }
        const isPut = text === expected || (await this.#kernel.written(scope, PUT, request))
        if (!isPut) continue
        const created = new Map(this.#created)
        this.#enter(created, id, text)
        this.#created = created
        this.#kernel.watchers.wake(OTHERS_TOPIC)
        return
      }
    })
  }

  #found(name: string, before: CreatedSchedule | undefined): CreatedSchedule {
    if (before !== undefined) return before
    const declared = this.#declaredAs(name)
    if (declared === undefined) throw scheduleNotFound(name)
    throw new WaitpointError(
      'ERR_CANNOT_SCHEDULE',
      `Cannot change schedule "${name}": task "${declared.schedule.taskId}" declares it; change it in the code of the task`,
    )
  }

  /** By its id, or by that of its task. */
  #declaredAs(name: string): ScheduleTimer | undefined {
    return this.#declared.find(({ schedule: { id, taskId } }) => id === name || taskId === name)
  }

  async #read(): Promise<void> {
    const list = await this.#kernel.asked(LIST, this.#revision)
    if (list !== undefined) this.#takeOver(list)
  }

  #takeOver({ revision, schedules }: ScheduleList): void {
    const created = new Map<string, Entry>()
    for (const { id, text } of schedules) this.#enter(created, id, text)
    for (const [id, { timer }] of this.#created) if (!created.has(id)) timer.stop()
    this.#created = created
    this.#revision = revision
  }

  /** Enters the schedule as it is now. A timer goes on where that of the schedule before it was. */
  #enter(created: Map<string, Entry>, id: string, text: string | undefined): void {
    const before = this.#created.get(id)
    if (before !== undefined && before.text === text) {
      created.set(id, before)
      return
    }
    before?.timer.stop()
    created.delete(id)
    if (text === undefined) return
    const schedule = read(text)
    const entry = { text, created: schedule, timer: this.#timer(schedule) }
    created.set(id, entry)
    if (this.#isStarted && this.#triggers(entry)) entry.timer.follow(schedule.since, before?.timer)
  }

  /** An engine triggers what it can execute. */
  #triggers({ created: { taskId, isActive } }: Entry): boolean {
    return isActive && this.#kernel.tasks.get(taskId)?.schedule !== undefined
  }

  #declaredBy({ id: taskId, schedule }: ScheduledDefinition): ScheduleTimer[] {
    const { id, cron, timezone, catchUp } = schedule
    if (cron === undefined) return []
    const timed: TimedSchedule = {
      ...{ id, type: 'DECLARATIVE', taskId, cron, timezone, catchUp, isActive: true, createdAt: 0 },
      scope: `schedules/${taskId}`,
    }
    return [new ScheduleTimer(this.#tools, timed)]
  }

  /** When storage has first seen the pattern of a declared schedule. */
  async #firstSeen({ schedule: { taskId, cron, timezone } }: ScheduleTimer): Promise<number> {
    const { host } = this.#kernel
    const name = `schedule ${taskId} ${cron} ${timezone}`
    return Number(await host.storage.settings.getOrInsert(name, String(host.now())))
  }

  #timer(created: CreatedSchedule): ScheduleTimer {
    const { id, taskId } = created
    const catchUp = this.#kernel.tasks.get(taskId)?.schedule?.catchUp ?? 'none'
    return new ScheduleTimer(this.#tools, {
      ...created,
      type: 'IMPERATIVE',
      catchUp,
      scope: `schedule/${id}`,
      look: () => this.#look(created),
    })
  }

  /** Looks at one schedule: as a rule it is what it was. */
  async #look({ id }: CreatedSchedule): Promise<void> {
    const text = await storeOf(this.#kernel.host.storage).get(id)
    if (text !== this.#created.get(id)?.text) await this.look()
  }
}

function storeOf({ schedules }: Storage): ScheduleStore {
  if (schedules !== undefined) return schedules
  throw new WaitpointError(
    'ERR_CANNOT_SCHEDULE',
    'Cannot create a schedule: the storage of this engine keeps none; give a task the option schedule, with a cron',
  )
}

/** What this engine or another one has stored. */
function read(text: string): CreatedSchedule {
  return JSON.parse(text) as CreatedSchedule
}

function scheduleNotFound(name: string): WaitpointError {
  return new WaitpointError(
    'ERR_SCHEDULE_NOT_FOUND',
    `Cannot find schedule "${name}": no task of this engine has it, and none with this id was created`,
  )
}
