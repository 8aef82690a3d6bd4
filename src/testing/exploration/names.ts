const ID = /\b[a-z]+_[0-9a-z]{26}\b/g

/**
 * Names for ids, equal in every schedule: the first run of task `review` is `review`, the second `review~2`, and the
 * first token of the first run is `review.token`.
 */
export class Names {
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<string, number>()

  /** Names a run after its task. */
  run(id: string, taskId: string): void {
    if (!this.#names.has(id)) this.#names.set(id, this.#numbered(taskId))
  }

  /** Names a token, or another object, after its creator. */
  made(id: string, maker: string): void {
    if (this.#names.has(id)) return
    const kind = id.slice(0, id.indexOf('_'))
    this.#names.set(id, this.#numbered(`${maker}.${kind === 'waitpoint' ? 'token' : kind}`))
  }

  /** The name of an id, if it has one. */
  of(id: string): string | undefined {
    return this.#names.get(id)
  }

  /** Replaces the ids in a text by their names. */
  readable(text: string): string {
    // Asked for every timer and every step. A pattern takes much longer than this.
    if (!text.includes('_')) return text
    return text.replace(ID, (id) => this.#names.get(id) ?? id.slice(0, id.indexOf('_')))
  }

  /** The next label of a kind: `review/tokens.await#1`, `review/tokens.await#2`. */
  label(actor: string, operation: string): string {
    const kind = `${actor}/${operation}`
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    return `${kind}#${count}`
  }

  #numbered(name: string): string {
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    return count === 1 ? name : `${name}~${count}`
  }
}
