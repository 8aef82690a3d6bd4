import { AsyncLocalStorage } from 'node:async_hooks'
import { currentScope } from '../../core/run-scope.ts'
import type { Inserted, Storage } from '../../contract/storage.ts'
import { type StorageOperation, wrapStorage } from '../wrapped-storage.ts'
import type { Boundaries } from './boundaries.ts'
import type { Names } from './names.ts'
import type { Observer } from './observer.ts'
import type { Process } from './process.ts'
import { isLook } from './storage-call.ts'

const bodies = new AsyncLocalStorage<true>()

/** Calls the body of an exploration: what it asks of the storage is labelled as its own. */
export function runAsBody<T>(body: () => T): T {
  return bodies.run(true, body)
}

/** Calls something as if it was not called from a body. */
export function outsideBody<T>(call: () => T): T {
  return bodies.exit(call)
}

/** Who calls, by name: the run whose code it is, `body`, or `engine`. */
export function callerName(names: Names): string {
  const scope = currentScope()
  if (scope !== undefined) return names.of(scope.id) ?? 'run'
  return bodies.getStore() === true ? 'body' : 'engine'
}

export interface BoundaryStorageOptions {
  readonly boundaries: Boundaries
  readonly names: Names
  readonly process: Process
  /** Watches the calls, if nothing is between them and the engine. */
  readonly observer?: Observer | undefined
}

/** The same storage for one process, whose every call is a boundary. */
export function boundaryStorage(storage: Storage, options: BoundaryStorageOptions): Storage {
  const { boundaries, names, process, observer } = options
  const wrapped = wrapStorage(storage, (name, operation) => (...args) => {
    if (process.isDead) return new Promise<never>(() => undefined)
    if (!process.isObserved) return operation(...args)
    const answered = observer?.called(name, args, process)
    const label = names.label(actorOf(name, args, names), name)
    const about = { label, process, isCommit: isCommit(name), mayFail: true, args, answered }
    return boundaries.call(about, () => {
      const answer = operation(...args)
      nameWhatIsNew(name, answer, names)
      return answer
    })
  })
  return {
    ...wrapped,
    subscribe: (owner, listener) =>
      storage.subscribe(owner, (hint) => {
        if (!process.isDead) listener(hint)
      }),
  }
}

/** What is asked about a run on its way is labelled with the run, whoever's code it happens to be called from. */
const ABOUT_RUNS: ReadonlySet<StorageOperation> = new Set<StorageOperation>([
  'runs.update',
  'runs.park',
  'runs.resume',
  'tokens.await',
  'chunks.open',
  'chunks.append',
])
const UPKEEP: ReadonlySet<StorageOperation> = new Set<StorageOperation>(['open', 'leave', 'prune'])

function isCommit(name: StorageOperation): boolean {
  return !isLook(name) && !UPKEEP.has(name)
}

function actorOf(name: StorageOperation, [request]: readonly unknown[], names: Names): string {
  if (!ABOUT_RUNS.has(name)) return callerName(names)
  const { runId, id } = request as { readonly runId?: string; readonly id?: string }
  return names.of(runId ?? id ?? '') ?? callerName(names)
}

function nameWhatIsNew(name: StorageOperation, answer: unknown, names: Names): void {
  if (name === 'runs.insert') {
    const { record } = answer as Inserted<{ readonly id: string; readonly taskId: string }>
    names.run(record.id, record.taskId)
  }
  if (name === 'tokens.insert') {
    const { record } = answer as Inserted<{ readonly id: string; readonly runId?: string }>
    names.made(record.id, names.of(record.runId ?? '') ?? 'body')
  }
}
