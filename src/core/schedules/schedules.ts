import type { TaskSchedule, SchedulesNamespace } from '../../api/schedule.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { Awaitable } from '../../contract/storage.ts'
import type { Kernel } from '../kernel.ts'
import type { ScheduleTimer, StoreScheduled } from './schedule-timer.ts'

/** The schedules of the tasks of an engine. Their code is loaded when a task has one. */
export class EngineSchedules implements SchedulesNamespace {
  readonly #kernel: Kernel
  readonly #store: StoreScheduled
  #loading: Promise<readonly ScheduleTimer[]> | undefined
  #loaded: readonly ScheduleTimer[] = []

  constructor(kernel: Kernel, store: StoreScheduled) {
    this.#kernel = kernel
    this.#store = store
  }

  /** Called when an engine that executes opens: from then on runs are triggered. */
  start(): Awaitable<void> {
    return this.#kernel.tasks.scheduled.length === 0 ? undefined : this.#startAll()
  }

  stop(): void {
    for (const schedule of this.#loaded) schedule.stop()
  }

  list(): Promise<readonly TaskSchedule[]> {
    return this.#kernel.call(async () => (await this.#load()).map(({ view }) => view))
  }

  retrieve(schedule: string): Promise<TaskSchedule> {
    return this.#kernel.call(async () => {
      const found = (await this.#load()).find(({ id, taskId }) => id === schedule || taskId === schedule)
      if (found !== undefined) return found.view
      throw new WaitpointError(
        'ERR_SCHEDULE_NOT_FOUND',
        `Cannot find schedule "${schedule}": no task of this engine has it`,
      )
    })
  }

  async #startAll(): Promise<void> {
    for (const schedule of await this.#load()) await schedule.start()
  }

  #load(): Promise<readonly ScheduleTimer[]> {
    return (this.#loading ??= this.#make())
  }

  async #make(): Promise<readonly ScheduleTimer[]> {
    const { scheduled } = this.#kernel.tasks
    if (scheduled.length === 0) return []
    const { ScheduleTimer } = await import('./schedule-timer.ts')
    this.#loaded = scheduled.map((definition) => new ScheduleTimer(this.#kernel, definition, this.#store))
    return this.#loaded
  }
}
