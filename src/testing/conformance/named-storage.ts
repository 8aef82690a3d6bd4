import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { Hint, Storage, StorageOperation } from '../../contract/storage.ts'
import { seededRandom } from '../../clock/seeded-random.ts'
import { chain } from '../../primitives/awaitable.ts'
import { ID_DIGITS, idsAt } from '../../primitives/id.ts'
import { wrapStorage } from '../storages/wrapped.ts'

/** The characters of names, in their order; the first one fills up. */
const LETTERS = ' -0123456789:_abcdefghijklmnopqrstuvwxyz'
const LONGEST = 15
const MADE = /\b(?:run|waitpoint)_[0-9a-z]{26}\b/g

/** The id of a record with this name. Of one instant ids are in the order of their names, if these are short. */
export function madeId(prefix: string, name: string, createdAt: number): string {
  const isShort = name.length <= LONGEST && Array.from(name).every((letter) => LETTERS.includes(letter, 1))
  const places = isShort
    ? Array.from(name.padEnd(LONGEST), (letter) => LETTERS.indexOf(letter))
    : Array.from(seededRandom(name).bytes(LONGEST), (byte) => byte % LETTERS.length)
  let rest = places.reduce((value, place) => value * 40n + BigInt(place), 0n)
  let tail = ''
  for (let place = 0; place < 16; place++, rest >>= 5n) tail = `${ID_DIGITS[Number(rest & 31n)] ?? ''}${tail}`
  return idsAt(prefix, createdAt) + tail
}

/** The members that are ids of runs, of tokens, or of what is asked for. */
const OF_RUNS = new Set(['runId', 'rootId', 'parentId', 'root', 'instead', 'scope'])
const OF_STORE = new Set(['id', 'after', 'before'])
/** What a storage never looks into. */
const OPAQUE = new Set(['chunks', 'end', 'transaction'])

/** Ids by name, and names by id, of the runs and the manual tokens of a storage. */
export class RecordNames {
  readonly #runs = new Map<string, string>()
  readonly #tokens = new Map<string, string>()
  readonly #names = new Map<string, string>()

  /** Before a record is inserted. */
  add(operation: StorageOperation, args: readonly unknown[]): void {
    if (operation !== 'runs.insert' && operation !== 'tokens.insert') return
    // These two take such a request.
    const { record } = args[0] as { readonly record: RunRecord | TokenRecord }
    const { id: name, createdAt } = record
    const isRun = operation === 'runs.insert'
    if (!isRun && (record as TokenRecord).kind !== 'MANUAL') return
    const id = madeId(isRun ? 'run' : 'waitpoint', name, createdAt)
    ;(isRun ? this.#runs : this.#tokens).set(name, id)
    this.#names.set(id, name)
  }

  /** A value that is given, with ids in the place of names. `member` says what a text is. */
  given(value: unknown, operation: StorageOperation, member: string): unknown {
    if (typeof value === 'string') return this.#idOf(value, operation, member)
    return mapped(value, (each, name) => this.given(each, operation, name ?? member))
  }

  /** A value that is answered, with names in the place of ids. */
  answered(value: unknown): unknown {
    if (typeof value === 'string') return value.replace(MADE, (id) => this.#names.get(id) ?? id)
    return mapped(value, (each) => this.answered(each))
  }

  #idOf(text: string, operation: StorageOperation, member: string): string {
    // A schedule has an id that its user gave it.
    const isOfStore = OF_STORE.has(member) && !operation.startsWith('schedules.')
    if (OF_RUNS.has(member) || (isOfStore && !operation.startsWith('tokens.')))
      return this.#runs.get(text) ?? text
    if (!isOfStore && member !== 'tokenId') return text
    const ofRun = text.startsWith('run:') ? this.#runs.get(text.slice(4)) : undefined
    return ofRun === undefined ? (this.#tokens.get(text) ?? text) : `run:${ofRun}`
  }
}

/** Arrays and plain objects with each member mapped; a member that nothing looks into stays as it is. */
function mapped(value: unknown, map: (value: unknown, member?: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => map(each))
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  return Object.fromEntries(
    Object.entries(value).map(([member, each]) => [member, OPAQUE.has(member) ? each : map(each, member)]),
  )
}

/** Operations whose arguments name nothing that has a made id. */
const NAMELESS = ['settings.', 'counts.', 'runs.marks']

/**
 * A storage whose runs and manual tokens are called by short names, such as `a`: it stores them under ids that an engine could
 * have made, and names them in what it answers.
 */
export function namedStorage(storage: Storage, names: RecordNames = new RecordNames()): Storage {
  const wrapped = wrapStorage(
    storage,
    <Args extends readonly unknown[], Answer>(
      operation: StorageOperation,
      operate: (...args: Args) => Answer | Promise<Answer>,
    ) => {
      if (NAMELESS.some((prefix) => operation.startsWith(prefix))) return operate
      return (...args: Args) => {
        names.add(operation, args)
        // Only names have become ids, and ids names.
        const given = names.given(args, operation, 'id') as Args
        return chain(operate(...given), (answer) => names.answered(answer) as Answer)
      }
    },
  )
  return {
    ...wrapped,
    subscribe: (owner, listener) =>
      storage.subscribe(owner, (hint) => {
        listener(names.answered(hint) as Hint)
      }),
  }
}
