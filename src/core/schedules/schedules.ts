import type {
  CreateScheduleOptions,
  ScheduleChange,
  SchedulesNamespace,
  TaskSchedule,
} from '../../api/schedule.ts'
import { type Late, late } from '../../primitives/late.ts'
import { unawaited } from '../../primitives/awaitable.ts'
import type { Awaitable } from '../../contract/storage.ts'
import type { Kernel } from '../kernel.ts'
import type * as scheduleBook from './schedule-book.ts'
import type { ScheduleBook } from './schedule-book.ts'
import type { StoreScheduled } from './schedule-timer.ts'

export const SCHEDULE_BOOK: Late<typeof scheduleBook> = /* @__PURE__ */ late(
  () => import('./schedule-book.ts'),
)

/** The schedules of an engine. Their code is loaded when a task has one, or when a caller asks for them. */
export class EngineSchedules implements SchedulesNamespace {
  readonly #kernel: Kernel
  readonly #store: StoreScheduled
  #book: ScheduleBook | undefined

  constructor(kernel: Kernel, store: StoreScheduled) {
    this.#kernel = kernel
    this.#store = store
  }

  /** Called when an engine that executes opens: from then on runs are triggered. */
  start(): Awaitable<void> {
    return this.#kernel.tasks.scheduled.length === 0 ? undefined : this.#use((book) => book.start())
  }

  stop(): void {
    this.#book?.stop()
  }

  /** Other engines may have changed some. */
  look(): void {
    const { host, events, ticker } = this.#kernel
    const failed = (error: unknown): void => {
      if (host.isClosing) return
      events.error(error)
      ticker.answerLost('schedules')
    }
    unawaited(() => this.#book?.look(), failed)
  }

  list(): Promise<readonly TaskSchedule[]> {
    return this.#ask((book) => book.list(), true)
  }

  retrieve(schedule: string): Promise<TaskSchedule> {
    return this.#ask((book) => book.retrieve(schedule), true)
  }

  create(options: CreateScheduleOptions): Promise<TaskSchedule> {
    return this.#ask((book) => book.create(options))
  }

  update(schedule: string, change: ScheduleChange): Promise<TaskSchedule> {
    return this.#ask((book) => book.update(schedule, change))
  }

  del(schedule: string): Promise<{ readonly id: string }> {
    return this.#ask((book) => book.del(schedule))
  }

  activate(schedule: string): Promise<TaskSchedule> {
    return this.#ask((book) => book.setActive(schedule, true))
  }

  deactivate(schedule: string): Promise<TaskSchedule> {
    return this.#ask((book) => book.setActive(schedule, false))
  }

  #ask<Answer>(question: (book: ScheduleBook) => Promise<Answer>, isReader?: boolean): Promise<Answer> {
    return this.#kernel.call(() => this.#use(question), isReader)
  }

  #use<Answer>(call: (book: ScheduleBook) => Awaitable<Answer>): Awaitable<Answer> {
    return SCHEDULE_BOOK.use(({ ScheduleBook: Book }) =>
      call((this.#book ??= new Book(this.#kernel, this.#store))),
    )
  }
}
