/** Ends the cursor of whoever has seen the end. */
const SEEN_ALL = ';end'

/**
 * How far somebody has followed a run: for each key of a stream the sequence number of its next chunk. As text it is the
 * id of an event.
 */
export class RunCursor {
  /** Whether everything was seen, the end of the run included. */
  readonly isAtEnd: boolean
  readonly #next: Map<string, number>

  private constructor(next: Map<string, number>, isAtEnd: boolean) {
    this.#next = next
    this.isAtEnd = isAtEnd
  }

  /** The cursor of an id; nothing when it is none of ours. */
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

  /** Where each key begins. */
  get positions(): ReadonlyMap<string, number> {
    return this.#next
  }

  /** The next chunk of a key is this one. */
  moveTo(key: string, next: number): void {
    this.#next.set(key, next)
  }

  /** What comes before the sequence number in the ids while only this key moves on. */
  prefix(key: string): string {
    const others = [...this.#next]
      .filter(([other]) => other !== key)
      .map(([other, next]) => item(other, next))
    return [...others, `${encodeURIComponent(key)}=`].join('&')
  }

  toString(): string {
    return Array.from(this.#next, ([key, next]) => item(key, next)).join('&')
  }

  /** The id of whoever has seen everything. */
  get end(): string {
    return `${this.toString()}${SEEN_ALL}`
  }
}

function item(key: string, next: number): string {
  return `${encodeURIComponent(key)}=${next}`
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
