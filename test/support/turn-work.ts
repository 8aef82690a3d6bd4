import { inNextTurn } from '../../src/clock/macrotask-turn.ts'

/**
 * Steps of some 40 ns that the runtime takes for one value in JSON that is made or parsed. They are measured, and no machine
 * changes what they are to each other: a key that is new costs the most.
 */
const STEPS = { value: 1, shortString: 5, container: 10, newKey: 50, entry: 15, replaced: 5 }
/** For a call, and for what a line or an item costs around it. */
const STEPS_A_CALL = 50
const CHARACTERS_A_STEP = 20

/** Counts the work on JSON, on the entries of objects and on what is replaced by a call in a text, between two turns of the event loop, until it is disposed of. */
export interface TurnWork extends Disposable {
  /** The most since this was last asked for. */
  most(): number
}

export function countTurnWork(): TurnWork {
  const { parse, stringify } = JSON
  const { entries, fromEntries } = Object
  const { replace } = Object.getOwnPropertyDescriptors(String.prototype)
  let [steps, most, isCounting] = [0, 0, true]
  const count = (value: unknown, text: unknown): void => {
    const length = typeof text === 'string' ? text.length : 0
    // Of little there cannot be much.
    add(STEPS_A_CALL + length / CHARACTERS_A_STEP + (length < 1_000 ? length : stepsOf(value, new Set())))
  }
  const add = (more: number): void => {
    steps += more
    most = Math.max(most, steps)
  }
  const turn = (): void => {
    steps = 0
    if (isCounting) inNextTurn(turn)
  }
  JSON.parse = (text, ...given) => {
    const value: unknown = parse(text, ...given)
    count(value, text)
    return value
  }
  JSON.stringify = (value: unknown, ...given: unknown[]): string => {
    // Any of its signatures.
    const text = stringify(value, ...(given as []))
    count(value, text)
    return text
  }
  Object.entries = (object: object): [string, never][] => {
    const found = entries(object) as [string, never][]
    add(STEPS.entry * found.length)
    return found
  }
  Object.fromEntries = (given: Iterable<readonly [PropertyKey, never]>) => {
    const list = [...given]
    add(STEPS.entry * list.length)
    return fromEntries(list)
  }
  // Either of its signatures.
  const replaceIn = replace.value as (this: string, pattern: never, by: unknown) => string
  String.prototype.replace = function (pattern: unknown, by: unknown) {
    const counted = (...matched: readonly unknown[]): unknown => {
      add(STEPS.replaced)
      return Reflect.apply(by as () => unknown, undefined, matched)
    }
    return replaceIn.call(this as string, pattern as never, typeof by === 'function' ? counted : by)
  }
  turn()
  return {
    most() {
      const was = most
      most = 0
      return was
    },
    [Symbol.dispose]() {
      isCounting = false
      Object.assign(JSON, { parse, stringify })
      Object.assign(Object, { entries, fromEntries })
      Object.defineProperty(String.prototype, 'replace', replace)
    },
  }
}

function stepsOf(value: unknown, keys: Set<string>): number {
  if (typeof value === 'string') return value.length <= 10 ? STEPS.shortString : STEPS.value
  if (typeof value !== 'object' || value === null) return STEPS.value
  let steps = STEPS.container
  for (const key of Object.keys(value)) {
    if (!Array.isArray(value) && keys.size < keys.add(key).size) steps += STEPS.newKey
    steps += stepsOf((value as Readonly<Record<string, unknown>>)[key], keys)
  }
  return steps
}
