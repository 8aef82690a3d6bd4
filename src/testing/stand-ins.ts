import { task } from '../core/define-task.ts'
import type { AnyTask, TaskOutput, TaskPayload } from '../core/run.ts'
import type { RunTools } from '../core/task.ts'
import { type TaskDefinition, TaskRegistry } from '../core/task-definition.ts'
import type { Unsubscribe } from '../contract/storage.ts'

/** One call of the function of a task, or of what stands in for it. */
export interface TaskCall<Payload = unknown, Output = unknown> {
  readonly runId: string
  /** Which call of this run it was, from 1. */
  readonly attempt: number
  readonly payload: Payload
  /** What came of it; nothing while it is under way, or when it was given up. */
  readonly outcome?:
    { readonly ok: true; readonly output: Output } | { readonly ok: false; readonly error: unknown }
}

/** What a mock is: like the `run` of a task. */
export type TaskMock<Payload = never, Output = unknown> = (
  payload: Payload,
  tools: RunTools,
) => Output | Promise<Output>

/** The same tasks, with a record of their calls, and with functions that may be replaced. */
export class StandIns {
  readonly #given: AnyTask[] = []
  #registry: TaskRegistry = new TaskRegistry([])
  readonly #calls = new Map<string, TaskCall[]>()
  readonly #mocks = new Map<string, TaskMock<unknown>>()
  /** What the engine is to use. */
  readonly tasks: AnyTask[] = []

  constructor(tasks: readonly AnyTask[]) {
    this.add(tasks)
  }

  /** More tasks, before an engine is made with them. */
  add(tasks: readonly AnyTask[]): void {
    const known = this.tasks.length
    this.#given.push(...tasks)
    this.#registry = new TaskRegistry(this.#given)
    for (const id of this.#registry.ids.slice(known))
      this.tasks.push(this.#standIn(this.#registry.require(id)))
  }

  /** All calls of a task so far, in order. */
  calls<Task extends AnyTask>(called: Task): readonly TaskCall<TaskPayload<Task>, TaskOutput<Task>>[] {
    const { id } = this.#registry.require(called.id)
    // Only this very task is called under its id.
    return [...(this.#calls.get(id) ?? [])] as TaskCall<TaskPayload<Task>, TaskOutput<Task>>[]
  }

  /** Calls `mock` instead of a task's own function, until what this answers is called. */
  mock<Task extends AnyTask>(mocked: Task, mock: TaskMock<TaskPayload<Task>, TaskOutput<Task>>): Unsubscribe {
    const { id } = this.#registry.require(mocked.id)
    // As above: its payloads are this task's.
    const untyped = mock as TaskMock<unknown>
    this.#mocks.set(id, untyped)
    return () => {
      if (this.#mocks.get(id) === untyped) this.#mocks.delete(id)
    }
  }

  #standIn({ id, options }: TaskDefinition): AnyTask {
    const run = async (payload: unknown, tools: RunTools): Promise<unknown> => {
      const own = options.run
      const { run: called, attempt } = tools.ctx
      return this.#record(id, { runId: called.id, attempt: attempt.number, payload }, () =>
        (this.#mocks.get(id) ?? own)(payload, tools),
      )
    }
    return task({ ...options, run })
  }

  async #record(id: string, call: TaskCall, body: () => unknown): Promise<unknown> {
    const calls = this.#calls.get(id) ?? []
    this.#calls.set(id, calls)
    const index = calls.push(call) - 1
    try {
      const output = await body()
      calls[index] = { ...call, outcome: { ok: true, output } }
      return output
    } catch (error) {
      calls[index] = { ...call, outcome: { ok: false, error } }
      throw error
    }
  }
}
