import {
  type SettingStore,
  STORAGE_CALLS,
  type Storage,
  type StorageOperation,
  type TickRequest,
  type TickResult,
} from '../../contract/storage.ts'
import { USED_LINK } from '../../console/login-link.ts'
import { withOperations } from '../../testing/storages/wrapped.ts'

/** What an engine writes that only looks. */
const UPKEEP: readonly StorageOperation[] = ['tick', 'settings.getOrInsert']

/**
 * A storage for an engine that looks from outside. It writes what a user asks for, and nothing by itself: it takes no lease
 * and ends none, settles no deadlines by a timer, forgets nothing. Engines that execute runs do not notice it.
 */
export function lookingStorage(storage: Storage): Storage {
  return withOperations(storage, {
    'settings.getOrInsert': withoutLinks(storage.settings),
    tick: ({ leaseUntil }: TickRequest): TickResult => ({
      alive: true,
      ready: [],
      settled: [],
      expired: [],
      claimable: false,
      held: 0,
      // As if others were there: then readers look again every third of the lease, for hints that were lost.
      leaseUntil,
    }),
    prune: () => 0,
  })
}

/** A looking storage in which nothing can be changed: what a user asks for is refused, by `why`. */
export function readOnlyStorage(storage: Storage, why: () => Error): Storage {
  const refuse = (): never => {
    throw why()
  }
  const writing = (Object.keys(STORAGE_CALLS) as StorageOperation[]).filter(
    (name) => STORAGE_CALLS[name].writes === 'records' && !UPKEEP.includes(name),
  )
  const leave: Storage['leave'] = async (request) => {
    try {
      await storage.leave(request)
    } catch {
      // There is no lease to end. What was opened is closed.
    }
  }
  return withOperations(storage, { ...Object.fromEntries(writing.map((name) => [name, refuse])), leave })
}

/** A login at a console that looks is no change of what it looks at: this process knows the links that it has printed. */
function withoutLinks(settings: SettingStore): SettingStore['getOrInsert'] {
  const used = new Map<string, string>()
  return (name, candidate) => {
    if (!name.startsWith(USED_LINK)) return settings.getOrInsert(name, candidate)
    const first = used.get(name) ?? candidate
    used.set(name, first)
    return first
  }
}
