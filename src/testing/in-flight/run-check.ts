import { macrotaskTurn } from '../../clock/macrotask-turn.ts'
import { losePatience } from '../../clock/patience.ts'
import { seededRandom } from '../../clock/seeded-random.ts'
import type { AnyTask } from '../../api/run.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { Storage } from '../../contract/storage.ts'
import { type TaskDefinition, TaskRegistry, validatePayload } from '../../api/task-definition.ts'
import { loadAll } from '../../core/all-loaded.ts'
import { task } from '../../core/ambient/define-task.ts'
import { createObservedEngine, mismatchOf } from '../../core/inside.ts'
import { fromJson } from '../../api/serialize.ts'
import { valuesFor, valuesOf } from '../../api/values.ts'
import { defined } from '../../primitives/defined.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import type { Codec } from '../../api/codec.ts'
import { Course, type RunInFlight } from './course.ts'
import { departure, departureOf, type InFlightDeparture } from './departure.ts'
import { askedQuestion, childQuestion, tokenQuestion } from './question.ts'
import { RunCopy } from './run-copy.ts'
import { stoppedClock } from '../../clock/stopped.ts'

export interface RunCheckOptions {
  readonly tasks: readonly AnyTask[]
  readonly codec: Codec | undefined
  readonly now: number
  readonly patienceMs: number
}

/** Executes runs on new code, each in a copy of its own, up to the wait that their storage has. */
export class RunCheck {
  readonly #source: Storage
  readonly #registry: TaskRegistry
  /** Without their hooks, which would be called in earnest. */
  readonly #tasks: readonly AnyTask[]
  readonly #codec: { readonly codec?: Codec }
  readonly #now: number
  readonly #patienceMs: number

  constructor(source: Storage, { tasks, codec, now, patienceMs }: RunCheckOptions) {
    this.#source = source
    this.#registry = new TaskRegistry(tasks)
    this.#tasks = this.#registry.definitions.map(withoutHooks)
    this.#codec = defined({ codec })
    this.#now = now
    this.#patienceMs = patienceMs
  }

  /** Everything that the storage has of a run. Reads only. */
  async read(record: RunRecord): Promise<RunInFlight> {
    const { runs } = this.#source
    if (!isBegun(record)) return { record, asked: { tokens: [], runs: [] }, waits: [] }
    return { record, asked: await runs.asked(record.id), waits: await runs.waits(record.id) }
  }

  /** How the run departs, if it does. */
  async departure(stored: RunInFlight): Promise<InFlightDeparture | undefined> {
    const { record } = stored
    const { id, taskId } = record
    if (this.#registry.get(taskId) === undefined) {
      const message = `Cannot execute run "${id}": its task "${taskId}" is not among the tasks`
      return departure(record, { reason: 'unknown-task', message })
    }
    const course = new Course(stored, this.#patienceMs)
    return course.isOver ? this.#payloadDeparture(record) : this.#execute(stored, course)
  }

  /** A run that has nothing to come to again departs only if the task does not take its payload any more. */
  async #payloadDeparture(record: RunRecord): Promise<InFlightDeparture | undefined> {
    if (record.returned) return undefined
    const definition = this.#registry.codeFor(record)
    const validated = createDeferred<unknown>()
    const stop = losePatience(this.#patienceMs, () => validated.resolve(undefined))
    const values = valuesFor(definition, valuesOf(this.#codec.codec))
    const validate = async (): Promise<unknown> =>
      validatePayload(definition, values.decode(fromJson(record.payloadJson)))
    validate().then(validated.resolve, validated.reject)
    try {
      await validated.promise
      return undefined
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      const message = `Cannot execute run "${record.id}" of task "${record.taskId}": ${why}`
      return departure(record, { reason: 'failed', message })
    } finally {
      stop()
    }
  }

  async #execute(stored: RunInFlight, course: Course): Promise<InFlightDeparture | undefined> {
    const { record } = stored
    const copy = new RunCopy({ source: this.#source, stored, course, now: this.#now })
    await copy.begin()
    const ports = {
      storage: copy.storage,
      clock: stoppedClock(this.#now),
      random: seededRandom(`check of ${record.id}`),
    }
    loadAll()
    const engine = createObservedEngine(ports, { tasks: this.#tasks, ...this.#codec })
    let mismatch: unknown
    engine.on('error', ({ error, runId }) => {
      if (runId === record.id) mismatch ??= error
    })
    try {
      await engine.ready()
      const end = await course.end
      // The reason of a run that stands still is told in a microtask of its own.
      if (end.kind === 'stood still') await macrotaskTurn()
      const found = departureOf(record, { course, end, patienceMs: this.#patienceMs })
      return found === undefined ? undefined : withMismatch(found, stored, mismatch)
    } finally {
      await engine.close()
    }
  }
}

/** Whether the next execution of a run finds what an earlier one has asked: a new attempt of its policy asks anew. */
function isBegun({ status, returned }: RunRecord): boolean {
  return !returned && status !== 'QUEUED' && status !== 'DELAYED'
}

function withoutHooks({ options, version }: TaskDefinition): AnyTask {
  const {
    onStart: _start,
    onSuccess: _success,
    onFailure: _failure,
    onCancel: _cancel,
    catchError: _error,
    ...rest
  } = options
  // The version is that of the task, though its text is elsewhere.
  return task({ ...rest, version })
}

/** The details that the engine knows of a run that it lets stand still. */
function withMismatch(found: InFlightDeparture, stored: RunInFlight, error: unknown): InFlightDeparture {
  if (found.reason !== 'question') return found
  const mismatch = mismatchOf(error)
  if (mismatch === 'version') return { ...found, reason: 'version' }
  if (mismatch === undefined) return found
  const { asked } = stored
  const token = asked.tokens.find(({ key }) => key?.value === mismatch.expectedKey)
  const child = asked.runs.find(({ key }) => key?.value === mismatch.expectedKey)
  const expected = token === undefined ? child && childQuestion(child) : tokenQuestion(token)
  return { ...found, ...(expected === undefined ? {} : { expected }), asked: askedQuestion(mismatch.asked) }
}
