import {
  type Awaitable,
  STORAGE_CALLS,
  type Storage,
  type StorageOperation,
  type TickRequest,
} from '../../contract/storage.ts'
import { StorageUnavailableError } from '../../contract/storage-unavailable.ts'
import { callingAttempt } from '../../core/inside.ts'
import { seededRandom } from '../../clock/seeded-random.ts'
import { chain } from '../../primitives/awaitable.ts'
import { wrapStorage } from './wrapped.ts'

/** Options of {@link flakyStorage}. */
export interface FlakyOptions {
  /**
   * The seed of what happens to the storage.
   *
   * @default `1`
   */
  readonly seed?: number | string
}

/**
 * - `away`: no call is done. `lost`: calls are done, and their answers are lost.
 * - `full`: reads are done, and writes are not. `slow`: answers come many turns later.
 */
type Trouble = 'away' | 'lost' | 'full' | 'slow'

const TROUBLES: readonly Trouble[] = ['away', 'lost', 'full', 'slow']
/** How likely a call is the first of a trouble, and how many calls have it at most. */
const CHANCE = 0.1
const MOST_CALLS = 6
const SLOW_MICROTASKS = 50

/**
 * Makes a storage away, slow or full, and brings it back, at random. No run may end in another way on it.
 *
 * Only calls that an engine makes again fail: its own, and those of runs. A caller outside of runs would get the error.
 *
 * @example
 * ```ts
 * const storage = flakyStorage(memoryStorage(), { seed: 7 })
 * ```
 */
export function flakyStorage(storage: Storage, { seed = 1 }: FlakyOptions = {}): Storage {
  const random = seededRandom(seed)
  let trouble: Trouble | undefined
  let callsLeft = 0
  const next = (): Trouble | undefined => {
    if (callsLeft === 0) trouble = undefined
    if (trouble === undefined && random.fraction() < CHANCE) {
      trouble = TROUBLES[Math.floor(random.fraction() * TROUBLES.length)]
      callsLeft = 1 + Math.floor(random.fraction() * MOST_CALLS)
    }
    callsLeft = Math.max(0, callsLeft - 1)
    return trouble
  }
  const opened = new Set<string>()
  // The first tick of an engine belongs to its opening.
  const isOpening = (name: StorageOperation, [request]: readonly unknown[]): boolean => {
    if (name !== 'tick') return false
    const { owner } = request as TickRequest
    const isFirst = !opened.has(owner)
    opened.add(owner)
    return isFirst
  }
  return wrapStorage(storage, (name, operation) => (...args) => {
    if (!isMadeAgain(name) || isOpening(name, args)) return operation(...args)
    return meet(next(), name, () => operation(...args))
  })
}

function isMadeAgain(name: StorageOperation): boolean {
  return STORAGE_CALLS[name].isRepeated ?? callingAttempt()?.isOver === false
}

function meet<Answer>(
  trouble: Trouble | undefined,
  name: StorageOperation,
  ask: () => Awaitable<Answer>,
): Awaitable<Answer> {
  switch (trouble) {
    case 'away':
      throw unavailable('it is away', false)
    case 'full':
      if (STORAGE_CALLS[name].writes === 'nothing') return ask()
      throw unavailable('it is full', false)
    case 'lost':
      return chain(ask(), () => {
        throw unavailable('its answer was lost', true)
      })
    case 'slow':
      return later(ask)
    default:
      return ask()
  }
}

async function later<Answer>(ask: () => Awaitable<Answer>): Promise<Answer> {
  for (let turn = 0; turn < SLOW_MICROTASKS; turn += 1) await Promise.resolve()
  return ask()
}

function unavailable(why: string, mayBeDone: boolean): Error {
  return new StorageUnavailableError(`Cannot use the flaky storage: ${why}`, { mayBeDone })
}
