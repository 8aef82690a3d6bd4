import { streamPosition } from '../../contract/stream-position.ts'

/** Ends the cursor of a reader that has seen the end of the run. */
const SEEN_ALL = ';end'

/**
 * The position of a reader in a run: for each stream key the sequence of the next chunk. Its text is the id of an
 * event.
 */
export class RunCursor {
  /** Whether the reader has seen everything, the end of the run included. */
  readonly isAtEnd: boolean
  readonly #next: Map<string, number>

  private constructor(next: Map<string, number>, isAtEnd: boolean) {
    this.#next = next
    this.isAtEnd = isAtEnd
  }

  /** Parses the id of an event; `undefined` for any other text. */
  static parse(id: string): RunCursor | undefined {
    const isAtEnd = id.endsWith(SEEN_ALL)
    const text = isAtEnd ? id.slice(0, -SEEN_ALL.length) : id
    const next = new Map<string, number>()
    for (const item of text === '' ? [] : text.split('&')) {
      const [, key, digits] = /^([^=]+)=(\d{1,15})$/.exec(item) ?? []
      const name = key === undefined ? undefined : decoded(key)
      if (name === undefined) return undefined
      next.set(name, Number(digits))
    }
    return new RunCursor(next, isAtEnd)
  }

  /** The next sequence for each key. */
  get positions(): ReadonlyMap<string, number> {
    return this.#next
  }

  /** Forgets the keys of other streams than these: a reader could make up any number of them, and each event repeats them. */
  keepOnly(streams: readonly string[]): void {
    const known = new Set(streams)
    for (const key of [...this.#next.keys()]) if (!known.has(key)) this.#next.delete(key)
  }

  /** Sets the next sequence of a key. */
  moveTo(key: string, next: number): void {
    this.#next.set(key, next)
  }

  /** The ids of events while only this key moves, up to the sequence. */
  prefix(key: string): string {
    const others = [...this.#next]
      .filter(([other]) => other !== key)
      .map(([other, next]) => streamPosition(other, next))
    return [...others, streamPosition(key, '')].join('&')
  }

  toString(): string {
    return Array.from(this.#next, ([key, next]) => streamPosition(key, next)).join('&')
  }

  /** The id of a reader that has seen everything. */
  get end(): string {
    return `${this.toString()}${SEEN_ALL}`
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
