import { contextOf } from './execution/task-call.ts'
import type { RunsNamespace, TasksNamespace } from '../api/run.ts'
import type { RunScope } from './attempt/attempt.ts'
import type { MetadataNamespace, StreamsNamespace } from '../api/stream.ts'
import type { Namespaces, RunContext, RunTools } from '../api/task.ts'
import type { WaitNamespace } from '../api/token.ts'

/** The second argument of `run`: made for every attempt, worked out only when read. */
export class AttemptTools implements RunTools {
  readonly #namespaces: Namespaces
  readonly #scope: RunScope
  #ctx: RunContext | undefined

  constructor(namespaces: Namespaces, scope: RunScope) {
    this.#namespaces = namespaces
    this.#scope = scope
  }

  get ctx(): RunContext {
    return (this.#ctx ??= contextOf(this.#scope))
  }

  get signal(): AbortSignal {
    return this.#scope.signal
  }

  get wait(): WaitNamespace {
    return this.#namespaces.wait
  }

  get metadata(): MetadataNamespace {
    return this.#namespaces.metadata
  }

  get runs(): RunsNamespace {
    return this.#namespaces.runs
  }

  get tasks(): TasksNamespace {
    return this.#namespaces.tasks
  }

  get streams(): StreamsNamespace {
    return this.#namespaces.streams
  }
}
