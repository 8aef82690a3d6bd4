import type { HistoryError } from './shape.ts'

/** The place of a value in a history. */
export interface RedactedPlace {
  /**
   * - `payload`, `metadata`, `options`, `output`: of the run, or of a child that `id` names.
   * - `answer`: the output of a token. `effect`: the result of `once`.
   * - `error`: the message of an error.
   * - `tag`, `name`: a tag; the name of a wait, the key of an effect or an idempotency key.
   */
  readonly of: 'payload' | 'metadata' | 'options' | 'output' | 'answer' | 'effect' | 'error' | 'tag' | 'name'
  /** The id of the run or of the token. */
  readonly id: string
}

/** Answers the value that is exported instead of `value`. Texts stay texts: of another answer its text is taken. */
export type Redact = (value: unknown, place: RedactedPlace) => unknown

/** Replaces the values of a history before it is written. */
export class Redaction {
  readonly #redact: Redact | undefined

  constructor(redact: Redact | undefined) {
    this.#redact = redact
  }

  get isOn(): boolean {
    return this.#redact !== undefined
  }

  /** A value that is absent stays absent. */
  value(value: unknown, place: RedactedPlace): unknown {
    return this.#redact === undefined || value === undefined ? value : this.#redact(value, place)
  }

  text(text: string, place: RedactedPlace): string {
    return this.#redact === undefined ? text : String(this.#redact(text, place))
  }

  texts(texts: readonly string[], place: RedactedPlace): readonly string[] {
    return texts.map((text) => this.text(text, place))
  }

  /** A stack is never exported: it has paths of the machine. */
  error({ name, message, code }: HistoryError, id: string): HistoryError {
    return { name, message: this.text(message, { of: 'error', id }), ...(code === undefined ? {} : { code }) }
  }
}
