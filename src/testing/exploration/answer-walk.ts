import type { WaitingToken } from './question-desk.ts'

/** An answer of the outside world to a token. */
export type WorldAnswer =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'time-out' }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'crash' }

/** All paths through a tree of questions, depth first. The questions depend on earlier answers. */
export class AnswerWalk {
  readonly #values: Readonly<Record<string, readonly unknown[]>>
  #last: AnswerPath | undefined

  constructor(values: Readonly<Record<string, readonly unknown[]>>) {
    this.#values = values
  }

  /** The next path; `undefined` after the last one. The previous path must have been walked to its end. */
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

/** One path: the planned answers, then the first possible answer to each question. */
export class AnswerPath {
  readonly #values: Readonly<Record<string, readonly unknown[]>>
  readonly #planned: readonly number[]
  readonly #taken: Taken[] = []
  readonly #texts: string[] = []
  /** The tokens that were waiting when the process died. */
  readonly #crashed = new Set<string>()

  constructor(values: Readonly<Record<string, readonly unknown[]>>, planned: readonly number[]) {
    this.#values = values
    this.#planned = planned
  }

  /** The answers so far, for messages. */
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

  /** The answers of the next path, which shares the longest possible prefix with this one. */
  following(): readonly number[] | undefined {
    const place = this.#taken.findLastIndex(({ index, count }) => index + 1 < count)
    const changed = this.#taken[place]
    if (changed === undefined) return undefined
    return [...this.#taken.slice(0, place).map(({ index }) => index), changed.index + 1]
  }

  /** After a crash one answer is enough, because only the recovery of the run differs. */
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

/** A value as JSON, or `nothing` for a value without JSON text, such as `undefined`. */
export function spellJson(value: unknown): string {
  // The declaration of `JSON.stringify` ignores values without a text.
  const text = JSON.stringify(value) as string | undefined
  return text ?? 'nothing'
}
