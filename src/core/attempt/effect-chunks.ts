import { SequenceRanges } from '../../primitives/sequence-ranges.ts'

/**
 * The chunks that an effect of `once` writes. They are recorded with its result, so that readers know which chunks of an earlier
 * attempt no later one writes again.
 */
export class EffectChunks {
  /** Of streams of its own run, by key. */
  readonly #written = new Map<string, SequenceRanges>()
  readonly #writing: Promise<unknown>[] = []

  /** Its chunks in one stream. */
  of(key: string): SequenceRanges {
    const known = this.#written.get(key) ?? new SequenceRanges()
    this.#written.set(key, known)
    return known
  }

  /** The effect ends after this has; it fails with this. */
  add(writing: Promise<unknown>): void {
    this.#writing.push(writing)
    // The effect itself may have failed before.
    writing.catch(() => undefined)
  }

  /** Resolves when all chunks are stored: with their places, or with nothing if the effect writes none. */
  async stored(): Promise<string | undefined> {
    // What is awaited may write more.
    for (const writing of this.#writing) await writing
    if (this.#writing.length + this.#written.size === 0) return undefined
    return JSON.stringify(Object.fromEntries(Array.from(this.#written, ([key, { all }]) => [key, all])))
  }
}
