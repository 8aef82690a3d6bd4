import type { RunRecord, StreamRecord, TokenRecord } from '../../contract/records.ts'
import type {
  Awaitable,
  ChunkRead,
  ChunksRead,
  Inserted,
  Page,
  PageRequest,
  QueueSettings,
  QueueState,
  RunFilter,
  RunInsert,
  RunUpdate,
  RunUpdated,
  Storage,
  StreamOpen,
  TokenAwait,
  TokenAwaited,
  TokenFilter,
  TokenInsert,
  TokenInserted,
  TokenPage,
  TokenRead,
  TokenSettle,
  TokenSettled,
} from '../../contract/storage.ts'
import { isStorageUnavailable } from '../../contract/storage-unavailable.ts'

/** One kind of call that a run makes of its storage. */
export interface RepeatableCall<Request, Answer> {
  /** Makes the call. Nothing is done twice if it is known that nothing was done before. */
  ask(storage: Storage, request: Request): Awaitable<Answer>
  /**
   * Makes the call once more when it may have been done, and recognizes its own effect. Absent: the call may be repeated as
   * it is.
   */
  again?(storage: Storage, request: Request): Promise<Answer>
  /** Its caller tells others of the answer, at once: it lets the event loop have its turns by itself. */
  readonly isTold?: boolean
  /** A parked run makes it as it is: a slot may come by what it changes, and others wait for it meanwhile. */
  readonly takesNoSlot?: boolean
  /** The run that may have been stored for an attempt that waits for it. If that is canceled first, the run is too. */
  childIn?(request: Request): string
}

/** A record is found by its id: no two calls insert the same one. */
export const INSERT_RUN: RepeatableCall<RunInsert, Inserted<RunRecord> | 'stale'> = {
  ask: (storage, request) => storage.runs.insert(request),
  again: (storage, request) =>
    insertAgain<Inserted<RunRecord>>(
      request.record.id,
      () => storage.runs.insert(request),
      async () => {
        const record = await storage.runs.get(request.record.id)
        return record && { record, isCached: false }
      },
    ),
}

/** A run that the run which inserts it waits for. */
export const INSERT_CHILD: typeof INSERT_RUN = /* @__PURE__ */ Object.assign({}, INSERT_RUN, {
  childIn: ({ record }: RunInsert) => record.id,
})

export const INSERT_TOKEN: RepeatableCall<TokenInsert, TokenInserted | 'stale'> = {
  ask: (storage, request) => storage.tokens.insert(request),
  again: (storage, request) =>
    insertAgain<TokenInserted>(
      request.record.id,
      () => storage.tokens.insert(request),
      async () => {
        const read = await storage.tokens.get(request.record.id, request.now)
        return read && { ...read, isCached: false }
      },
    ),
}

/**
 * A completion wins once. One that is found completed with its own output, by its own author, has won before; but never by an
 * answer to no question, or to another one, which cannot win.
 */
export const SETTLE_TOKEN: RepeatableCall<TokenSettle, TokenSettled | 'stale' | undefined> = {
  ask: (storage, request) => storage.tokens.settle(request),
  isTold: true,
  again: async (storage, request) => {
    const answer = await storage.tokens.settle(request)
    if (answer === undefined || answer === 'stale' || answer.won) return answer
    const { status, outputJson, answeredJson, questionJson } = answer.record
    const isOwn = request.isTimeOut
      ? status === 'TIMED_OUT'
      : status === 'COMPLETED' && outputJson === request.outputJson
    return isOwn && answeredJson === request.answeredJson && questionJson === request.question
      ? { ...answer, won: true, settledNow: true }
      : answer
  },
}

/** A wait is registered once, by its run and its token. */
export const AWAIT_TOKEN: RepeatableCall<TokenAwait, TokenAwaited> = {
  ask: (storage, request) => storage.tokens.await(request),
}

/**
 * For updates that keep status and epoch: done twice, they change nothing more. A cancel that is found done answers nothing:
 * its caller reads the run again.
 */
export const UPDATE_RUN: RepeatableCall<RunUpdate, RunUpdated | undefined> = {
  ask: (storage, request) => storage.runs.update(request),
}

/** An attempt has one segment in a stream. */
export const OPEN_STREAM: RepeatableCall<StreamOpen, StreamRecord | undefined> = {
  ask: (storage, request) => storage.chunks.open(request),
}

export const READ_CHUNKS: RepeatableCall<ChunkRead, ChunksRead | undefined> = {
  ask: (storage, request) => storage.chunks.read(request),
}

export const GET_RUN: RepeatableCall<string, RunRecord | undefined> = {
  ask: (storage, id) => storage.runs.get(id),
}

export interface RunList {
  readonly filter: RunFilter
  readonly page: PageRequest
}

export const LIST_RUNS: RepeatableCall<RunList, Page<RunRecord>> = {
  ask: (storage, { filter, page }) => storage.runs.list(filter, page),
}

export const RUN_WAITS: RepeatableCall<string, readonly TokenRecord[]> = {
  ask: (storage, id) => storage.runs.waits(id),
}

export interface QueueGet {
  readonly name: string
  /** Asks for what started under this key, and not for what started without one. */
  readonly concurrencyKey?: string | undefined
}

/** A storage may keep nothing of queues. */
export const GET_QUEUE: RepeatableCall<QueueGet, QueueState | undefined> = {
  ask: ({ queues }, { name, concurrencyKey }) => queues?.get(name, concurrencyKey),
}

export const LIST_QUEUES: RepeatableCall<undefined, readonly QueueSettings[] | undefined> = {
  ask: ({ queues }) => queues?.list(),
}

export interface TokenGet {
  readonly id: string
  readonly now: number
  /** Asks for so many of the runs that wait for it. */
  readonly waiters?: number | undefined
}

export const GET_TOKEN: RepeatableCall<TokenGet, TokenRead | undefined> = {
  ask: (storage, { id, now, waiters }) => storage.tokens.get(id, now, waiters ? { waiters } : undefined),
}

export interface TokenList {
  readonly filter: TokenFilter
  readonly page: PageRequest
  readonly now: number
}

export const LIST_TOKENS: RepeatableCall<TokenList, TokenPage> = {
  ask: (storage, { filter, page, now }) => storage.tokens.list(filter, page, now),
}

/** The first insert may have stored the record: then this one finds it by its key, or is refused because the id is taken. */
async function insertAgain<
  Answer extends { readonly record: { readonly id: string }; readonly isCached: boolean },
>(
  id: string,
  insert: () => Awaitable<Answer | 'stale'>,
  find: () => Promise<Answer | undefined>,
): Promise<Answer | 'stale'> {
  try {
    const answer = await insert()
    if (answer === 'stale' || answer.record.id !== id) return answer
    return { ...answer, isCached: false }
  } catch (error) {
    if (isStorageUnavailable(error)) throw error
    const stored = await find()
    if (stored === undefined) throw error
    return stored
  }
}
