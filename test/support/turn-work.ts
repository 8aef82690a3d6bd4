import { inNextTurn } from '../../src/clock/macrotask-turn.ts'

/**
 * Steps of some 40 ns that the runtime takes for one value in JSON that is made or parsed. They are measured, and no machine
 * changes what they are to each other: a key that is new costs the most.
 */
const STEPS = { value: 1, shortString: 5, container: 10, newKey: 50 }
/** For a call, and for what a line or an item costs around it. */
const STEPS_A_CALL = 50
const CHARACTERS_A_STEP = 20

/** Counts the work on JSON between two turns of the event loop, until it is disposed of. */
export interface TurnWork extends Disposable {
  /** The most since this was last asked for. */
  most(): number
}

export function countTurnWork(): TurnWork {
  const { parse, stringify } = JSON
  let [steps, most, isCounting] = [0, 0, true]
  const count = (value: unknown, text: unknown): void => {
    const length = typeof text === 'string' ? text.length : 0
    // Of little there cannot be much.
    steps += STEPS_A_CALL + length / CHARACTERS_A_STEP + (length < 1_000 ? length : stepsOf(value, new Set()))
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
    },
  }
}

function stepsOf(value: unknown, keys: Set<string>): number {
  if (typeof value === 'string') return value.length <= 10 ? STEPS.shortString : STEPS.value
  if (typeof value !== 'object' || value === null) return STEPS.value
  let steps = STEPS.container
  for (const [key, item] of Object.entries(value)) {
    if (!Array.isArray(value) && keys.size < keys.add(key).size) steps += STEPS.newKey
    steps += stepsOf(item, keys)
  }
  return steps
}
