import type { WaitingToken } from './question-desk.ts'

/** What the outside world does when it is asked. */
export type WorldAnswer =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'time-out' }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'crash' }

/** Every way through a tree of questions, depth first: which questions come depends on what was answered before. */
export class AnswerWalk {
  readonly #values: Readonly<Record<string, readonly unknown[]>>
  #last: AnswerPath | undefined

  constructor(values: Readonly<Record<string, readonly unknown[]>>) {
    this.#values = values
  }

  /** The next way; nothing when all were gone. The one before must have been walked to its end. */
  next(): AnswerPath | undefined {
    const indices = this.#last === undefined ? [] : this.#last.following()
    if (indices === undefined) return undefined
    this.#last = new AnswerPath(this.#values, indices)
    return this.#last
  }
}

interface Taken {
  readonly index: number
  readonly count: number
}

/** One way: answers as planned, then with the first answer there is. */
export class AnswerPath {
  readonly #values: Readonly<Record<string, readonly unknown[]>>
  readonly #planned: readonly number[]
  readonly #taken: Taken[] = []
  readonly #texts: string[] = []
  /** Tokens that were waiting when the process died. */
  readonly #crashed = new Set<string>()

  constructor(values: Readonly<Record<string, readonly unknown[]>>, planned: readonly number[]) {
    this.#values = values
    this.#planned = planned
  }

  /** What was answered so far, for people. */
  get texts(): readonly string[] {
    return this.#texts
  }

  answer(token: WaitingToken): WorldAnswer {
    const tag = token.tags.find((name) => name in this.#values)
    const options = this.#optionsOf(token.id, tag)
    const index = this.#planned[this.#taken.length] ?? 0
    this.#taken.push({ index, count: options.length })
    const answer = options[index] ?? TIME_OUT
    if (answer.kind === 'crash') this.#crashed.add(token.id)
    this.#texts.push(`${tag ?? token.tags[0] ?? 'token'}: ${spell(answer)}`)
    return answer
  }

  /** The answers of the next way that begins like this one as far as possible. */
  following(): readonly number[] | undefined {
    const place = this.#taken.findLastIndex(({ index, count }) => index + 1 < count)
    const changed = this.#taken[place]
    if (changed === undefined) return undefined
    return [...this.#taken.slice(0, place).map(({ index }) => index), changed.index + 1]
  }

  /** After a crash one answer is enough: what differs is how the run comes back. */
  #optionsOf(id: string, tag: string | undefined): readonly WorldAnswer[] {
    const values = (tag === undefined ? [] : (this.#values[tag] ?? [])).map(
      (value) => ({ kind: 'value', value }) as const,
    )
    if (this.#crashed.has(id)) return [values[0] ?? TIME_OUT]
    return [...values, TIME_OUT, { kind: 'cancel' }, { kind: 'crash' }]
  }
}

const TIME_OUT: WorldAnswer = { kind: 'time-out' }

function spell(answer: WorldAnswer): string {
  return answer.kind === 'value' ? spellJson(answer.value) : answer.kind
}

/** A value as JSON; of what has none, such as `undefined`, that it is nothing. */
export function spellJson(value: unknown): string {
  // The declaration forgets that there are values without a text.
  const text = JSON.stringify(value) as string | undefined
  return text ?? 'nothing'
}
