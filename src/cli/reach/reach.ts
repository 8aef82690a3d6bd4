import type { QueueHandle, RetrievedQueue } from '../../api/queue.ts'
import type { RunReference, RunsNamespace } from '../../api/run.ts'
import type { RunExplanation } from '../../api/explanation.ts'
import type { EngineWaitNamespace, WaitNamespace } from '../../api/token.ts'
import { createClient } from '../../client/client.ts'
import type { Storage } from '../../contract/storage.ts'
import { createEngine } from '../../core/create-engine.ts'
import type { EngineOptions } from '../../api/engine-options.ts'
import type { Engine } from '../../core/engine.ts'
import { messageOf } from '../../primitives/message.ts'
import type { StorageInspection } from '../../storage/inspection.ts'
import { inspectPostgres } from '../../storage/postgres/inspect.ts'
import { postgresStorage } from '../../storage/postgres/postgres.ts'
import { inspectSqlite } from '../../storage/sqlite/inspect.ts'
import { sqliteStorage } from '../../storage/sqlite/sqlite.ts'
import { UnreachableError } from '../exit.ts'
import type { Terminal } from '../output/terminal.ts'
import { lookingStorage, readOnlyStorage } from './looking-storage.ts'
import { queuesOutside } from './outside-queues.ts'
import { seeFile } from './seen-file.ts'
import { nameOfPlace, type RunsPlace, type StoragePlace } from './place.ts'

/** Tokens, with what an app behind HTTP can do too. */
export type ReachedWait = WaitNamespace &
  Pick<EngineWaitNamespace, 'withdrawToken' | 'extendToken' | 'reassignToken'>

/** A queue, with what an app behind HTTP can do too. */
export type ReachedQueue = Omit<QueueHandle, 'setRate' | 'resetRate'>

/** An open place. */
export interface Reached {
  readonly name: string
  readonly runs: RunsNamespace & { explain(run: RunReference): Promise<RunExplanation> }
  readonly wait: ReachedWait
  queue(name: string): ReachedQueue
  queues(): Promise<readonly RetrievedQueue[]>
  /** The engine that looks into a storage; none for an app behind HTTP. */
  readonly engine?: Engine
}

/** How long one record is kept, unless an engine says otherwise. */
export const KEPT_MS: number = 30 * 86_400_000
/** How often to look whether another process has changed something. A person waits for it, no program. */
const POLL_MS = 100

/** Opens a place, and closes it when the work is done. */
export async function reaching<Result>(
  place: RunsPlace,
  terminal: Terminal,
  work: (reached: Reached) => Promise<Result>,
): Promise<Result> {
  if (place.kind === 'http') return work(reachApp(place, terminal))
  await using engine = await lookInto(place, terminal)
  const { runs, wait } = engine
  return await work({
    name: nameOfPlace(place),
    runs,
    wait,
    queue: (name) => engine.queue(name),
    queues: () => queuesOutside(engine),
    engine,
  })
}

function reachApp({ url, key }: RunsPlace & { readonly kind: 'http' }, { signal }: Terminal): Reached {
  const client = createClient({ baseUrl: url, accessToken: key, signal, retry: { maxAttempts: 2 } })
  return { ...client, name: url }
}

/**
 * An engine that looks into the storage of an app, and executes nothing. The schema is left as it is.
 *
 * @throws UnreachableError when the storage cannot be opened, or is of another version.
 */
export async function lookInto(
  place: StoragePlace,
  terminal: Terminal,
  options: Omit<EngineOptions, 'storage' | 'execute'> = {},
): Promise<Engine> {
  const { schema, mayWrite } = await inspectPlace(place, terminal, { isBrief: true })
  if (schema.version !== schema.known)
    throw new UnreachableError(`${nameOfPlace(place)}: ${mismatch(schema)}`)
  const looking = lookingStorage(storageOf(place))
  const storage = mayWrite ? looking : readOnly(looking, place, terminal)
  const engine = createEngine({ ...options, storage, execute: false })
  try {
    await engine.ready()
    return engine
  } catch (cause) {
    await engine.close()
    throw new UnreachableError(messageOf(cause), { cause })
  }
}

function storageOf(place: StoragePlace): Storage {
  if (place.kind === 'sqlite') {
    const file = seeFile(place.path)
    // The engine has it open until then.
    process.once('exit', () => file[Symbol.dispose]())
    return sqliteStorage({ path: file.path, pollMs: POLL_MS })
  }
  const { url: connectionString, schema } = place
  return postgresStorage({ connectionString, ...(schema === undefined ? {} : { schema }) })
}

function readOnly(storage: Storage, place: StoragePlace, terminal: Terminal): Storage {
  const name = nameOfPlace(place)
  const why = 'it may not be written by this user'
  if (place.kind === 'sqlite') terminal.note(`This is ${name} as it is now: ${why}.`)
  return readOnlyStorage(storage, () => new UnreachableError(`Cannot change ${name}: ${why}`))
}

/** Looks at the records of a storage. @throws UnreachableError when it cannot be opened. */
export async function inspectPlace(
  place: StoragePlace,
  { clock }: Terminal,
  { isBrief = false }: { readonly isBrief?: boolean } = {},
): Promise<StorageInspection> {
  try {
    if (place.kind === 'sqlite') {
      using file = seeFile(place.path)
      const look = { now: clock.now(), keptMs: KEPT_MS, isBrief }
      return { ...(await inspectSqlite(file.path, look)), mayWrite: !file.isCopy }
    }
    const { url: connectionString, schema } = place
    const given = { connectionString, ...(schema === undefined ? {} : { schema }) }
    return await inspectPostgres(given, { keptMs: KEPT_MS, isBrief })
  } catch (cause) {
    throw new UnreachableError(messageOf(cause), { cause })
  }
}

/** Why a schema cannot be worked with. */
export function mismatch({ version, known }: StorageInspection['schema']): string {
  if (version === undefined) return 'there is nothing in it yet: no engine has opened it'
  return version < known
    ? `its schema is version ${version}, and this version of waitpoint knows ${known}: it is brought up to date when an engine of this version opens it`
    : `its schema is version ${version}, and this version of waitpoint knows ${known}: install a newer one`
}
