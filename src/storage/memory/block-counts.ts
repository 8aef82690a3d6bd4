/** So many items are counted together. The counts fit into bytes. */
export const BLOCK = 64

/** How many items of each group there are in each block. */
export class BlockCounts {
  readonly #groups: number
  #counts = new Uint8Array(0)

  constructor(groups: number) {
    this.#groups = groups
  }

  add(position: number, group: number): void {
    const at = this.#at(position, group)
    if (at >= this.#counts.length) this.#grow(at)
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  remove(position: number, group: number): void {
    const at = this.#at(position, group)
    this.#counts[at] = (this.#counts[at] ?? 1) - 1
  }

  /** Forgets the block of a position, and later ones. */
  clear(position: number): void {
    this.#counts.fill(0, this.#at(position, 0))
  }

  /** How many items of a group there are in all blocks. */
  total(group: number): number {
    let total = 0
    for (let at = group; at < this.#counts.length; at += this.#groups) total += this.#counts[at] ?? 0
    return total
  }

  hasAny(position: number, groups: readonly number[]): boolean {
    return groups.some((group) => (this.#counts[this.#at(position, group)] ?? 0) > 0)
  }

  #at(position: number, group: number): number {
    return Math.floor(position / BLOCK) * this.#groups + group
  }

  #grow(at: number): void {
    const counts = new Uint8Array(Math.max(2 * this.#counts.length, at + this.#groups))
    counts.set(this.#counts)
    this.#counts = counts
  }
}
