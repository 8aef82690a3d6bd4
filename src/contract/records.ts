/**
 * The records of a storage. Instants are epoch milliseconds; a field ending in `Json` is JSON text, written once at the
 * edge and never looked into by a storage.
 */

export type RunStatus =
  | 'DELAYED'
  | 'QUEUED'
  | 'EXECUTING'
  | 'WAITING'
  | 'PENDING_VERSION'
  | 'COMPLETED'
  | 'FAILED'
  | 'CANCELED'
  | 'TIMED_OUT'
  | 'EXPIRED'
  | 'CRASHED'

/** A place in the name space of idempotency keys. Without `expiresAt` the key is valid as long as its record is kept. */
export interface KeyRecord {
  readonly scope: string
  readonly value: string
  readonly expiresAt?: number | undefined
}

export interface RunRecord {
  /** Begins with `createdAt`, as an engine makes it: ids are in the order of creation. A storage may refuse others. */
  readonly id: string
  readonly taskId: string
  readonly status: RunStatus
  readonly payloadJson?: string | undefined
  readonly outputJson?: string | undefined
  readonly errorJson?: string | undefined
  /** The attempts that have thrown. */
  readonly attemptsJson?: string | undefined
  /** Calls of the function so far, interrupted ones included. */
  readonly attempt: number
  /** Calls that count against `retry.maxAttempts`. */
  readonly policyAttempt: number
  /** The version of the task's code that executes this attempt of the policy. */
  readonly version?: string | undefined
  /** Deaths while executing since the run last parked. */
  readonly interruptions: number
  /** The engine that holds the run while it is `EXECUTING` or `WAITING`; none after a graceful close. */
  readonly owner?: string | undefined
  /** The fence: raised by every claim, by every outside cancel, and by every push. */
  readonly epoch: number
  /** How often the run has parked. Absent: never. */
  readonly parks?: number | undefined
  /** Whether the run counts against the limit of its queue. */
  readonly slot: boolean
  /** A canceled run whose function has not settled gives its slot back at this instant at the latest. */
  readonly slotUntil?: number | undefined
  /** The function has returned and `outputJson` is final; only its streams are still being drained. */
  readonly returned: boolean
  /** When a `DELAYED` run becomes due. */
  readonly wakeAt?: number | undefined
  /** When a run that was never started becomes `EXPIRED`. */
  readonly expiresAt?: number | undefined
  readonly parentId?: string | undefined
  readonly rootId: string
  readonly tags: readonly string[]
  readonly metadataJson?: string | undefined
  /** Keys of the streams registered so far, in order of registration. */
  readonly streams: readonly string[]
  readonly queue: string
  readonly concurrencyKey?: string | undefined
  /** The run stands in line as if it were so many milliseconds older; it is younger by a negative number. Absent: 0. */
  readonly priorityMs?: number | undefined
  /** The names of its further limits, besides that of its queue; see `pools.ts`. Absent: none. */
  readonly limits?: readonly string[] | undefined
  /** Options of this trigger that override the task's (`maxAttempts`, `maxDurationMs`, `ttlMs`). */
  readonly optionsJson?: string | undefined
  readonly key?: KeyRecord | undefined
  readonly createdAt: number
  readonly updatedAt: number
  readonly startedAt?: number | undefined
  readonly finishedAt?: number | undefined
}

/** The fields of a run that an update may change. */
export type RunChange = Partial<
  Pick<
    RunRecord,
    | 'status'
    | 'version'
    | 'outputJson'
    | 'errorJson'
    | 'attemptsJson'
    | 'epoch'
    | 'slot'
    | 'slotUntil'
    | 'returned'
    | 'wakeAt'
    | 'expiresAt'
    | 'tags'
    | 'metadataJson'
    | 'finishedAt'
  >
> & {
  /** Given as `undefined`, the run is handed back: it has no owner any more. */
  readonly owner?: undefined
}

export type TokenStatus = 'WAITING' | 'COMPLETED' | 'TIMED_OUT'

/**
 * - `MANUAL`: a waitpoint token; its deadline makes it `TIMED_OUT`.
 * - `SLEEP`: `wait.for` and `wait.until`; its deadline makes it `COMPLETED`.
 * - `ONCE`: the stored result of `once`; no deadline.
 * - `BINDING`: a name bound to what its output says: an idempotency key of `forToken` to a token, a batch to its runs, a place
 *   of a run to a child that other triggers put off. Born `COMPLETED`.
 * - `INPUT`: an input of a run, by its number in its stream, or which inputs a place of the run has read. See `input-keys.ts`.
 * - `RUN`: the end of a run. Its id is `run:<run id>`; a storage derives it from the run and may keep no record of it.
 */
export type TokenKind = 'MANUAL' | 'SLEEP' | 'ONCE' | 'BINDING' | 'INPUT' | 'RUN'

export interface TokenRecord {
  /** That of a `MANUAL` token begins with `createdAt`, like that of a run. */
  readonly id: string
  readonly kind: TokenKind
  readonly status: TokenStatus
  readonly outputJson?: string | undefined
  readonly timeoutAt?: number | undefined
  readonly tags: readonly string[]
  readonly key?: KeyRecord | undefined
  /** The run that created it, if one did. */
  readonly runId?: string | undefined
  readonly createdAt: number
  readonly completedAt?: number | undefined
  /** What is asked, of a token that is a question. A settle before the deadline names it; see {@link TokenSettle}. */
  readonly questionJson?: string | undefined
  /** The one who settled it, as the settle that won says. Of an effect: the chunks that it has written. */
  readonly answeredJson?: string | undefined
}

/** A run waits for a token; `owner` is the engine that holds the run. */
export interface WaitRecord {
  readonly tokenId: string
  readonly runId: string
  readonly owner: string
}

/** One chunk: its value and its JSON text. */
export interface ChunkRecord {
  /** An object is a new one each time: a reader that changes it changes nothing for others. */
  readonly value: unknown
  readonly text: string
  /** Estimated size in memory. */
  readonly bytes: number
}

export type SegmentEnd =
  | { readonly reason: 'done' }
  | { readonly reason: 'failed'; readonly errorJson: string }
  /** `isIntended`: the task stopped the source, by its signal. */
  | { readonly reason: 'interrupted'; readonly isIntended?: true }

/** The chunks one attempt wrote: from `first` to the next segment's `first`, or to the end of the stream. */
export interface SegmentRecord {
  readonly attempt: number
  readonly first: number
  readonly end?: SegmentEnd | undefined
}

export interface StreamRecord {
  readonly runId: string
  readonly key: string
  /** The oldest chunk still kept. */
  readonly first: number
  /** The sequence number the next chunk gets. */
  readonly next: number
  readonly segments: readonly SegmentRecord[]
}

// How records are stored. `npm run records` writes `src/generated` from this: a new field comes last.

/**
 * The type of a column: a `name` is compared and sorted by its characters, a `text` is neither, a `count` is a whole number of 32 bits. A
 * list of `texts` is a text in JSON. A `key` or a `rate` has a column for each of its fields.
 */
export type FieldType = 'name' | 'text' | 'count' | 'number' | 'flag' | 'texts' | 'key' | 'rate'

export interface Field {
  readonly type: FieldType
  /** The column. Absent: the name of the field in snake case, without `Json`. */
  readonly column?: string
  readonly isOptional?: true
  /** Most records that are under way do not have it. */
  readonly isRare?: true
  /** How it changes after the insert: with the `place` of its run in line, or with other `content`. Absent: by an update of its own, or never. */
  readonly changes?: 'content' | 'place'
  /** A list that a storage searches: it may have a column for that, too. */
  readonly isSearched?: true
}

type TypeFor<Value> = Value extends string
  ? 'name' | 'text'
  : Value extends number
    ? 'count' | 'number'
    : Value extends boolean
      ? 'flag'
      : Value extends KeyRecord
        ? 'key'
        : Value extends { readonly perMs: number }
          ? 'rate'
          : 'texts'

/** The fields of a record, each with the type that it has there. */
export type FieldsOf<Record> = {
  readonly [Name in keyof Record]-?: Field & {
    readonly type: TypeFor<NonNullable<Record[Name]>>
  } & (undefined extends Record[Name] ? { readonly isOptional: true } : { readonly isOptional?: never })
}

export const KEY_FIELDS: FieldsOf<KeyRecord> = {
  scope: { type: 'name' },
  value: { type: 'name' },
  expiresAt: { type: 'number', isOptional: true },
}

export const RUN_FIELDS: FieldsOf<RunRecord> = {
  id: { type: 'name' },
  taskId: { type: 'name' },
  status: { type: 'name', changes: 'place' },
  payloadJson: { type: 'text', isOptional: true },
  outputJson: { type: 'text', isOptional: true, isRare: true, changes: 'content' },
  errorJson: { type: 'text', isOptional: true, isRare: true, changes: 'content' },
  attempt: { type: 'count', changes: 'content' },
  policyAttempt: { type: 'count', changes: 'content' },
  interruptions: { type: 'count', changes: 'content' },
  owner: { type: 'name', isOptional: true, changes: 'place' },
  epoch: { type: 'count', changes: 'content' },
  slot: { type: 'flag', changes: 'place' },
  slotUntil: { type: 'number', isOptional: true, isRare: true, changes: 'place' },
  returned: { type: 'flag', changes: 'place' },
  wakeAt: { type: 'number', isOptional: true, isRare: true, changes: 'place' },
  expiresAt: { type: 'number', isOptional: true, isRare: true, changes: 'place' },
  parentId: { type: 'name', isOptional: true, isRare: true },
  rootId: { type: 'name' },
  tags: { type: 'texts', changes: 'content', isSearched: true },
  metadataJson: { type: 'text', isOptional: true, isRare: true, changes: 'content' },
  streams: { type: 'texts', changes: 'content' },
  queue: { type: 'name' },
  concurrencyKey: { type: 'name', isOptional: true, isRare: true },
  optionsJson: { type: 'text', isOptional: true, isRare: true },
  key: { type: 'key', isOptional: true, isRare: true },
  createdAt: { type: 'number' },
  updatedAt: { type: 'number', changes: 'content' },
  startedAt: { type: 'number', isOptional: true, changes: 'content' },
  finishedAt: { type: 'number', isOptional: true, isRare: true, changes: 'content' },
  version: { type: 'name', isOptional: true, changes: 'content' },
  attemptsJson: { type: 'text', column: 'attempts_json', isOptional: true, isRare: true, changes: 'content' },
  priorityMs: { type: 'number', isOptional: true, isRare: true },
  parks: { type: 'count', isOptional: true, changes: 'content' },
  limits: { type: 'texts', isOptional: true, isRare: true },
}

export const TOKEN_FIELDS: FieldsOf<TokenRecord> = {
  id: { type: 'name' },
  kind: { type: 'name' },
  status: { type: 'name' },
  outputJson: { type: 'text', isOptional: true },
  timeoutAt: { type: 'number', isOptional: true },
  tags: { type: 'texts', isSearched: true },
  key: { type: 'key', isOptional: true },
  runId: { type: 'name', isOptional: true },
  createdAt: { type: 'number' },
  completedAt: { type: 'number', isOptional: true },
  questionJson: { type: 'text', isOptional: true, isRare: true },
  answeredJson: { type: 'text', isOptional: true, isRare: true },
}

export const WAIT_FIELDS: FieldsOf<WaitRecord> = {
  runId: { type: 'name' },
  tokenId: { type: 'name' },
  owner: { type: 'name' },
}
