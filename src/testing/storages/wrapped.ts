import type {
  Awaitable,
  ChunkAdd,
  ChunkStore,
  CountStore,
  KeyFree,
  RunStore,
  QueueStore,
  ScheduleStore,
  SettingStore,
  Storage,
  TokenStore,
} from '../../contract/storage.ts'

/** The name of a storage operation, as wrappers show it. */
export type StorageOperation =
  | Exclude<
      keyof Storage,
      | 'runs'
      | 'tokens'
      | 'chunks'
      | 'settings'
      | 'counts'
      | 'queues'
      | 'schedules'
      | 'subscribe'
      | 'untilLeft'
      | 'endedBytes'
    >
  | `runs.${keyof RunStore}`
  | `tokens.${keyof TokenStore}`
  | `chunks.${keyof ChunkStore}`
  | `settings.${keyof SettingStore}`
  | `counts.${keyof CountStore}`
  | `queues.${keyof QueueStore}`
  | `schedules.${keyof ScheduleStore}`

/** Wraps one operation. */
export type AroundOperation = <Args extends readonly unknown[], Answer>(
  name: StorageOperation,
  operation: (...args: Args) => Awaitable<Answer>,
) => (...args: Args) => Awaitable<Answer>

/**
 * Wraps every operation of a storage; hints pass through. Each operation is named here, so that a new one in the
 * contract fails to compile until it is wrapped.
 */
export function wrapStorage(storage: Storage, around: AroundOperation): Storage {
  const { time, endedBytes, counts, leases, due, queues, schedules } = storage
  const wrapped: Mutable<Storage> = {
    runs: wrapRuns(storage.runs, around),
    tokens: wrapTokens(storage.tokens, around),
    chunks: wrapChunks(storage.chunks, around),
    settings: wrapSettings(storage.settings, around),
    open: around('open', () => storage.open()),
    tick: around('tick', (request) => storage.tick(request)),
    subscribe: (owner, listener) => storage.subscribe(owner, listener),
    leave: around('leave', (request) => storage.leave(request)),
    prune: around('prune', (request) => storage.prune(request)),
  }
  // Assigned, because spreads are slow, and an exploration wraps a storage for every schedule.
  if (endedBytes !== undefined) wrapped.endedBytes = endedBytes
  if (counts !== undefined) wrapped.counts = wrapCounts(counts, around)
  if (queues !== undefined) wrapped.queues = wrapQueues(queues, around)
  if (schedules !== undefined) wrapped.schedules = wrapSchedules(schedules, around)
  if (time !== undefined) wrapped.time = around('time', () => time())
  if (leases !== undefined) wrapped.leases = around('leases', () => leases())
  if (due !== undefined) wrapped.due = around('due', (limit) => due(limit))
  for (const name of STATEMENTS) copyStatement(wrapped, storage, name)
  return wrapped
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

/** What a storage says of itself, if it says it. */
const STATEMENTS = [
  'retention',
  'pruneLimit',
  'boundedHistory',
  'timesOut',
  'rates',
  'debounces',
  'claimsNew',
  'resumesWaiting',
  'joinsTransactions',
] as const

function copyStatement<Name extends (typeof STATEMENTS)[number]>(
  wrapped: Mutable<Pick<Storage, Name>>,
  storage: Storage,
  name: Name,
): void {
  const statement = storage[name]
  if (statement !== undefined) wrapped[name] = statement
}

function wrapRuns(runs: RunStore, around: AroundOperation): RunStore {
  return {
    insert: around('runs.insert', (request) => runs.insert(request)),
    get: around('runs.get', (...args) => runs.get(...args)),
    list: around('runs.list', (filter, page) => runs.list(filter, page)),
    waits: around('runs.waits', (id) => runs.waits(id)),
    asked: around('runs.asked', (id) => runs.asked(id)),
    update: around('runs.update', (request) => runs.update(request)),
    claim: around('runs.claim', (request) => runs.claim(request)),
    park: around('runs.park', (request) => runs.park(request)),
    resume: around('runs.resume', (request) => runs.resume(request)),
    marks: around('runs.marks', (scopes) => runs.marks(scopes)),
    ...(runs.freeKey === undefined
      ? {}
      : { freeKey: around('runs.freeKey', (request: KeyFree) => runs.freeKey?.(request)) }),
  }
}

function wrapTokens(tokens: TokenStore, around: AroundOperation): TokenStore {
  return {
    insert: around('tokens.insert', (request) => tokens.insert(request)),
    get: around('tokens.get', (...args) => tokens.get(...args)),
    list: around('tokens.list', (...args) => tokens.list(...args)),
    await: around('tokens.await', (request) => tokens.await(request)),
    settle: around('tokens.settle', (request) => tokens.settle(request)),
    release: around('tokens.release', (waits) => tokens.release(waits)),
  }
}

function wrapChunks(chunks: ChunkStore, around: AroundOperation): ChunkStore {
  return {
    open: around('chunks.open', (request) => chunks.open(request)),
    append: around('chunks.append', (request) => chunks.append(request)),
    read: around('chunks.read', (request) => chunks.read(request)),
    ...wrapAdd(chunks, around),
  }
}

function wrapAdd(chunks: ChunkStore, around: AroundOperation): Pick<ChunkStore, 'add'> {
  const add = chunks.add?.bind(chunks)
  return add === undefined ? {} : { add: around('chunks.add', (request: ChunkAdd) => add(request)) }
}

function wrapSettings(settings: SettingStore, around: AroundOperation): SettingStore {
  return {
    getOrInsert: around('settings.getOrInsert', (name, candidate) => settings.getOrInsert(name, candidate)),
  }
}

function wrapCounts(counts: CountStore, around: AroundOperation): CountStore {
  return {
    runs: around('counts.runs', (filter, atMost) => counts.runs(filter, atMost)),
    tokens: around('counts.tokens', (filter, atMost) => counts.tokens(filter, atMost)),
  }
}

function wrapQueues(queues: QueueStore, around: AroundOperation): QueueStore {
  return {
    get: around('queues.get', (...args) => queues.get(...args)),
    list: around('queues.list', () => queues.list()),
    set: around('queues.set', (change) => queues.set(change)),
  }
}

function wrapSchedules(schedules: ScheduleStore, around: AroundOperation): ScheduleStore {
  return {
    get: around('schedules.get', (id) => schedules.get(id)),
    list: around('schedules.list', (known) => schedules.list(known)),
    put: around('schedules.put', (request) => schedules.put(request)),
  }
}
