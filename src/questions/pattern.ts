import { type Machine, MachineWriter, type PatternPart, type ReadText } from './machine.ts'

/**
 * A `pattern` of a JSON Schema: a regular expression of ECMAScript with the flag `u`. A check takes at most as many steps as the pattern
 * has parts, for each character of the text: all ways to read it are gone at once, place by place (Thompson's algorithm). What looks
 * ahead or behind is a machine of its own, which goes over the text before.
 */
export class Pattern {
  /** How many parts it has, with repetitions written out. */
  readonly size: number
  readonly #machines: readonly Machine[]
  /** In which turn each part was reached last: there is one for each place that a machine comes to. */
  readonly #reached: Float64Array
  #turn = 0

  /**
   * `others` is how many parts other patterns of its schema have.
   *
   * @throws {Error} It is no regular expression, refers back to a group, or is too large; the message says which.
   */
  constructor(source: string, others = 0) {
    const { machines, size } = new MachineWriter(source, others)
    this.#machines = machines
    this.size = size
    this.#reached = new Float64Array(size)
  }

  /** Whether a text fits. */
  test(text: string, spend: ReadText['spend']): boolean {
    const seen: Uint8Array[] = []
    for (const machine of this.#machines.slice(0, -1)) {
      spend(text.length)
      const places = new Uint8Array(text.length + 1)
      this.#read(machine, { text, seen, spend }, (place) => void (places[place] = 1))
      seen.push(places)
    }
    let isFound = false
    this.#read(this.#machines.at(-1) as Machine, { text, seen, spend }, () => (isFound = true))
    return isFound
  }

  /** Calls for each place at which a machine ends, until it is answered `true`. Hot: a step takes some 20 ns. */
  #read(
    { start, isBackwards, isFromStart }: Machine,
    reading: ReadText,
    end: (place: number) => unknown,
  ): void {
    const { text, spend } = reading
    const reached = this.#reached
    let turn = ++this.#turn
    const step = isBackwards ? -1 : 1
    let place = isBackwards ? text.length : 0
    let parts: PatternPart[] = []
    const reach = (part: PatternPart | undefined): void => {
      if (part === undefined || reached[part.id] === turn) return
      reached[part.id] = turn
      parts.push(part)
    }
    /** Passes all parts that read nothing, also those that it reaches. */
    const pass = (): boolean => {
      let isEnd = false
      for (const { reads, holds, next, also } of parts) {
        if (reads !== undefined || holds?.(reading, place) === false) continue
        isEnd ||= next === undefined
        reach(next)
        reach(also)
      }
      return isEnd
    }
    for (;;) {
      if (!isFromStart || place === 0) reach(start)
      if (pass() && end(place) === true) return
      spend(parts.length + 1)
      const character = characterAt(text, place, isBackwards)
      if (character === undefined || (isFromStart && parts.length === 0)) return
      place += (character > 0xffff ? 2 : 1) * step
      turn = ++this.#turn
      const before = parts
      parts = []
      for (const { reads, next } of before) if (reads?.(character) === true) reach(next)
    }
  }
}

/** The character after a place, or before it. */
function characterAt(text: string, place: number, isBackwards: boolean): number | undefined {
  if (!isBackwards) return text.codePointAt(place)
  const pair = text.codePointAt(place - 2) ?? 0
  return pair > 0xffff ? pair : text.codePointAt(place - 1)
}
