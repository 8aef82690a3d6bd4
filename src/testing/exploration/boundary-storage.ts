import { callingAttempt } from '../../core/inside.ts'
import {
  type AttemptFence,
  STORAGE_CALLS,
  type Hint,
  type Inserted,
  type Storage,
  type StorageOperation,
} from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import { wrapStorage } from '../storages/wrapped.ts'
import { writtenTimeout } from '../witness/given-timeouts.ts'
import { applicationProcess } from './current-process.ts'
import type { Boundaries } from './boundaries.ts'
import type { Names } from './names.ts'
import type { Observer } from './observer.ts'
import type { Process } from './process.ts'
import type { ToldCall } from './storage-call.ts'

/** The name of the caller: the run whose code calls, or the body of the exploration. */
export function callerName(names: Names): string {
  const attempt = callingAttempt()
  return attempt === undefined ? 'body' : (names.of(attempt.id) ?? 'run')
}

export interface BoundaryStorageOptions {
  readonly boundaries: Boundaries
  readonly names: Names
  readonly process: Process
  /** The observer of the calls, if no adapter is between them and the engine. */
  readonly observer?: Observer | undefined
  /** Whether a hint of another engine reaches the process. */
  readonly arrives: (hint: Hint) => boolean
  /** Called when the process has stored something. */
  readonly stored: (name: StorageOperation) => void
}

/** The storage as one process sees it. Every call is a boundary. */
export function boundaryStorage(storage: Storage, options: BoundaryStorageOptions): Storage {
  const { boundaries, names, process, observer, arrives, stored } = options
  const wrapped = wrapStorage(storage, (name, operation) => (...args) => {
    if (process.isDead) return new Promise<never>(() => undefined)
    if (!process.isObserved) return operation(...args)
    const answered = observer?.called(name, args, process)
    const actor = actorOf({ name, args, process }, names)
    const timeout = name === 'tokens.insert' ? writtenTimeout() : undefined
    const told = { name, args, actor, timeout, answer: undefined as unknown }
    // wrapStorage calls every operation with its own arguments, and names it. The answer belongs to this operation, too.
    const call = told as unknown as ToldCall
    const label = names.label(actor, name)
    return boundaries.call(
      { label, process, isCommit: STORAGE_CALLS[name].writes === 'records', mayFail: true, call, answered },
      () =>
        chain(operation(...args), (answer) => {
          told.answer = answer
          nameWhatIsNew(name, answer, names)
          stored(name)
          return answer
        }),
    )
  })
  return {
    ...wrapped,
    subscribe: (owner, listener) => {
      const unlisten = process.listen(listener)
      const unsubscribe = storage.subscribe(owner, (hint) => {
        // A process that stands still looks at everything when it goes on.
        if (process.isDead || process.isPaused) return
        if (!process.isObserved || arrives(hint)) listener(hint)
      })
      return () => {
        unlisten()
        unsubscribe()
      }
    },
  }
}

interface AboutRun {
  readonly runId?: string
  readonly id?: string
  readonly fence?: AttemptFence
}

interface Asked {
  readonly name: StorageOperation
  readonly args: readonly unknown[]
  readonly process: Process
}

function actorOf({ name, args: [request], process }: Asked, names: Names): string {
  const { by } = STORAGE_CALLS[name]
  if (by === 'engine') return process.name
  if (by === undefined) return callerOf(process, names)
  const { fence, runId, id } = request as AboutRun
  // Chunks for a stream of another run are of the run that writes them.
  return names.of(fence?.runId ?? runId ?? id ?? '') ?? callerOf(process, names)
}

/** The run whose code calls, else the body. It uses other engines than its main one by their names, as an application does. */
function callerOf(process: Process, names: Names): string {
  if (!process.isMortal) return process.name
  const caller = callerName(names)
  const isApplication = !process.isMain || applicationProcess() === process
  return caller === 'body' && isApplication ? process.name : caller
}

function nameWhatIsNew(name: StorageOperation, answer: unknown, names: Names): void {
  // An attempt that has lost its run makes nothing.
  if (answer === 'stale') return
  if (name === 'runs.insert') {
    const { record } = answer as Inserted<{ readonly id: string; readonly taskId: string }>
    names.run(record.id, record.taskId)
  }
  if (name === 'tokens.insert') {
    const { record } = answer as Inserted<{ readonly id: string; readonly runId?: string }>
    names.made(record.id, names.of(record.runId ?? '') ?? 'body')
  }
}
