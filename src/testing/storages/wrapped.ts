import {
  type Awaitable,
  STORAGE_CALLS,
  type Storage,
  type StorageOperation,
  type StoragePart,
} from '../../contract/storage.ts'

/** Wraps one operation. */
export type AroundOperation = <Args extends readonly unknown[], Answer>(
  name: StorageOperation,
  operation: (...args: Args) => Awaitable<Answer>,
) => (...args: Args) => Awaitable<Answer>

/** The method of a storage with this name. */
export type OperationOf<Name extends StorageOperation> = Name extends `${infer Part}.${infer Method}`
  ? Part extends StoragePart
    ? Method extends keyof NonNullable<Storage[Part]>
      ? NonNullable<NonNullable<Storage[Part]>[Method]>
      : never
    : never
  : Name extends keyof Storage
    ? NonNullable<Storage[Name]>
    : never

/** Operations in the place of those of a storage. */
export type Operations = { readonly [Name in StorageOperation]?: OperationOf<Name> }

/** What a storage has besides its calls. */
const ASIDE: Readonly<Record<Exclude<keyof Storage, StoragePart | StorageOperation>, true>> = {
  subscribe: true,
  untilLeft: true,
  endedBytes: true,
  retention: true,
  pruneLimit: true,
  boundedHistory: true,
  joinsTransactions: true,
  timesOut: true,
  rates: true,
  limits: true,
  debounces: true,
  claimsNew: true,
  resumesWaiting: true,
}

type Part = Readonly<Record<string, ((...args: readonly unknown[]) => unknown) | undefined>>

interface Place {
  /** `undefined`: the storage itself. */
  readonly part: string | undefined
  readonly method: string
}

/** Where a storage has its calls. */
const PLACES = new Map(
  (Object.keys(STORAGE_CALLS) as StorageOperation[]).map((name): [StorageOperation, Place] => {
    const [method = '', part] = name.split('.').reverse()
    return [name, { part, method }]
  }),
)

function partOf(storage: Storage, { part }: Place): Part | undefined {
  const whole = storage as unknown as Part & Readonly<Record<string, Part>>
  return part === undefined ? whole : whole[part]
}

/** Makes a call of a storage that has it. */
export function callOf<Answer>(
  storage: Storage,
  name: StorageOperation,
  args: readonly unknown[],
): Awaitable<Answer> {
  const place = PLACES.get(name)
  return (place && partOf(storage, place)?.[place.method]?.(...args)) as Awaitable<Answer>
}

/** Wraps every operation that a storage has; hints pass through, and so does what it says of itself. */
export function wrapStorage(storage: Storage, around: AroundOperation): Storage {
  const whole = storage as unknown as Readonly<Record<string, unknown>>
  const wrapped: Record<string, unknown> = {}
  for (const name of Object.keys(ASIDE)) {
    const value = whole[name]
    if (value !== undefined) wrapped[name] = typeof value === 'function' ? value.bind(storage) : value
  }
  for (const [name, place] of PLACES) {
    const { part, method } = place
    const from = partOf(storage, place)
    if (from?.[method] === undefined) continue
    const to = part === undefined ? wrapped : ((wrapped[part] ??= {}) as Record<string, unknown>)
    to[method] = around(name, (...args: readonly unknown[]) => from[method]?.(...args))
  }
  // The table has every call of the contract.
  return wrapped as unknown as Storage
}

/** A storage that makes some of its calls in another way. Those that it does not have stay away. */
export function withOperations(storage: Storage, operations: Operations): Storage {
  // An operation is found by its own name.
  return wrapStorage(
    storage,
    (name, operation) => (operations[name] as typeof operation | undefined) ?? operation,
  )
}
