import { AsyncResource } from 'node:async_hooks'
import type { RunRecord } from '../../contract/records.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { TaskOptions } from '../../api/task.ts'
import { Attempt, type AttemptKernel, inBranch } from '../attempt/attempt.ts'
import { fits, type TaskDefinition, type TaskRegistry, validatePayload } from '../../api/task-definition.ts'
import type { EventQueue } from '../changes/events.ts'
import type { Host } from '../host/host.ts'
import { payloadOf, type Values } from '../../api/values.ts'
import { branchContent } from '../waits/key.ts'
import { hookContext } from './task-call.ts'

/** How long a closing engine waits for calls that are under way. */
const CLOSE_GRACE_MS = 5_000
const SETTLED = /* @__PURE__ */ Promise.resolve()

interface Parts extends AttemptKernel {
  readonly host: Host
  readonly tasks: TaskRegistry
  readonly values: Values
  readonly events: EventQueue
}

/**
 * The calls of `onCancel`. Each has an attempt of its own: that of the function is over, and its calls have no effect. Like
 * the call of the function it begins in the context of the engine, not in that of the cancel.
 */
export class Compensations {
  readonly #kernel: Parts
  readonly #executes: boolean
  readonly #ownContext = new AsyncResource('waitpoint.compensations')
  readonly #underWay = new Set<Attempt>()
  /** Attempts whose function may go on, with what tells the hook that it does not. */
  readonly #functions = new Map<Attempt, Deferred<void>>()
  #idle: (() => void) | undefined

  constructor(kernel: Parts, { execute }: { readonly execute: boolean }) {
    this.#kernel = kernel
    this.#executes = execute
  }

  /** Whether the run has begun and this engine has a hook for it. */
  compensates(record: RunRecord): boolean {
    return record.attempt > 0 && this.#definitionOf(record)?.options.onCancel !== undefined
  }

  /** Calls the hook of a run that was canceled. `canceled`: its attempt, if there was one; else this engine has to have its code. */
  begin(record: RunRecord, canceled?: Attempt): void {
    const { host } = this.#kernel
    const definition = canceled?.definition ?? this.#definitionOf(record)
    const onCancel = definition?.options.onCancel
    if (definition === undefined || onCancel === undefined || host.isClosed) return
    // Also with metadata that were to be stored when the run was canceled.
    const metadataJson = canceled?.unsavedMetadata?.json ?? record.metadataJson
    const attempt = new Attempt(this.#kernel, definition, { ...record, metadataJson })
    attempt.payload = canceled?.payload
    attempt.compensate()
    this.#underWay.add(attempt)
    const settled = this.#settlementOf(canceled)
    this.#ownContext.runInAsyncScope(() => {
      // Waits of the function have places of their own.
      void inBranch(attempt, branchContent('onCancel'), () => this.#call(attempt, onCancel, settled))
    })
  }

  #definitionOf(record: RunRecord): TaskDefinition | undefined {
    const { tasks } = this.#kernel
    if (!this.#executes || tasks.get(record.taskId) === undefined) return undefined
    const definition = tasks.codeFor(record)
    return fits(definition, record.version) ? definition : undefined
  }

  #settlementOf(canceled: Attempt | undefined): Promise<void> {
    if (canceled === undefined || canceled.isOver) return SETTLED
    const settled = createDeferred<void>()
    this.#functions.set(canceled, settled)
    return settled.promise
  }

  /** The function of an attempt has settled, or the attempt has lost its slot. */
  left(attempt: Attempt): void {
    this.#functions.get(attempt)?.resolve()
    this.#functions.delete(attempt)
  }

  async #call(
    attempt: Attempt,
    onCancel: NonNullable<TaskOptions<unknown, unknown>['onCancel']>,
    settled: Promise<void>,
  ): Promise<void> {
    const { definition, clock } = attempt
    const endTime = clock.setTimer(clock.now() + definition.maxCancelMs, () => this.#timedOut(attempt), {
      label: `maxCancelDuration of ${attempt.id}`,
    })
    try {
      // The run may have been canceled before its function was called.
      if (attempt.payload === undefined)
        attempt.payload = await validatePayload(definition, payloadOf(attempt, this.#kernel.values))
      await onCancel({ ...hookContext(attempt), settled })
      if (attempt.unsavedMetadata !== undefined) await attempt.kernel.namespaces.metadata.flush()
    } catch (error) {
      if (!attempt.isEnded) this.#kernel.events.error(error, attempt.id)
    } finally {
      endTime()
      attempt.finish()
      this.#end(attempt)
    }
  }

  #timedOut(attempt: Attempt): void {
    const seconds = attempt.definition.maxCancelMs / 1_000
    const error = new WaitpointError(
      'ERR_RUN_TIMED_OUT',
      `Cannot go on in onCancel of run "${attempt.id}": it took longer than its maxCancelDuration of ${seconds} s`,
    )
    this.#abort(attempt, error)
    this.#kernel.events.error(error, attempt.id)
  }

  #abort(attempt: Attempt, error: Error): void {
    attempt.abort(error)
    this.#end(attempt)
  }

  #end(attempt: Attempt): void {
    attempt.stopTimers()
    attempt.letGo()
    this.#underWay.delete(attempt)
    if (this.#underWay.size === 0) this.#idle?.()
  }

  /** Calls `listener` once no hook is under way; at once if none is. */
  whenIdle(listener: () => void): void {
    if (this.#underWay.size === 0) listener()
    else this.#idle = listener
  }

  /** Resolves when no hook is under way any more, at the latest after a grace. */
  async ended(): Promise<void> {
    if (this.#underWay.size === 0) return
    const what = 'the end of the calls of onCancel that are under way'
    await this.#kernel.host.atMost(CLOSE_GRACE_MS, what, (done) => this.whenIdle(done))
  }

  /** The engine is closed: calls of the hooks that are under way have no effect any more. */
  abortAll(error: () => Error): void {
    for (const attempt of [...this.#underWay]) this.#abort(attempt, error())
    for (const settled of this.#functions.values()) settled.resolve()
    this.#functions.clear()
  }
}
