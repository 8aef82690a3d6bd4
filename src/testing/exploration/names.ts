const ID = /\b[a-z]+_[0-9a-z]{26}\b/g

/**
 * Names that are the same in every schedule, for ids that are not: the first run of task `review` is `review`, the
 * second `review~2`, the first token it makes `review.token`.
 */
export class Names {
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<string, number>()

  /** Names a run after its task. */
  run(id: string, taskId: string): void {
    if (!this.#names.has(id)) this.#names.set(id, this.#numbered(taskId))
  }

  /** Names a token, or whatever else an id stands for, after who made it. */
  made(id: string, maker: string): void {
    if (this.#names.has(id)) return
    const kind = id.slice(0, id.indexOf('_'))
    this.#names.set(id, this.#numbered(`${maker}.${kind === 'waitpoint' ? 'token' : kind}`))
  }

  /** The name of an id that has one. */
  of(id: string): string | undefined {
    return this.#names.get(id)
  }

  /** A text with the names of the ids in it. */
  readable(text: string): string {
    return text.replace(ID, (id) => this.#names.get(id) ?? id.slice(0, id.indexOf('_')))
  }

  /** The next label of this kind: `review/tokens.await#1`, `review/tokens.await#2`. */
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
