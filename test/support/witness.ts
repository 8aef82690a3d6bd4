/** What came of a question. */
export type Answer = { readonly ok: true; readonly output: string } | { readonly ok: false }

/** A race, and the part that won it. */
export interface Decision {
  readonly race: string
  readonly part: number
}

/**
 * What the world outside of a run sees: which question was asked with which token, which answer was given for it, and
 * which came to it. What must not be is in `wrong`.
 */
export class Witness {
  readonly wrong: string[] = []
  /** The process that executes the run. */
  process: { readonly hasCrashed: boolean } = { hasCrashed: false }
  readonly #begun = new Set<string>()
  readonly #tokens = new Map<string, string>()
  readonly #questions = new Map<string, string>()
  readonly #contents = new Map<string, string>()
  readonly #received = new Set<string>()
  readonly #tried = new Map<string, Set<string>>()
  readonly #acknowledged = new Map<string, string>()
  readonly #effects = new Map<string, string>()
  /** By question, the decisions that its execution had come to. */
  readonly #decided = new Map<string, readonly Decision[]>()
  /** By race, the part that won it before a question was asked. */
  readonly #winners = new Map<string, number>()
  readonly #outputs = new Map<string, string>()
  #serial = 0
  readonly #isAccepted: boolean
  readonly #areRacesFair: boolean

  /**
   * @param facts `isAccepted`: answers may go to other questions with equal options, because the code was accepted by hand.
   * `areRacesFair`: no two answers are given in one millisecond.
   */
  constructor({
    isAccepted,
    areRacesFair,
  }: {
    readonly isAccepted: boolean
    readonly areRacesFair: boolean
  }) {
    this.#isAccepted = isAccepted
    this.#areRacesFair = areRacesFair
  }

  /** The number of questions that were begun. */
  get begun(): number {
    return this.#begun.size
  }

  /** A text that no other question, answer or effect has. */
  unique(what: string): string {
    return `${what} ${(this.#serial += 1)}`
  }

  /** @param decided The races that this execution has decided so far. */
  begins(question: string, decided: readonly Decision[] = []): void {
    this.#begun.add(question)
    this.#decided.set(question, [...decided])
  }

  /** A question keeps its token, and a token its question, in every execution. */
  asked(question: string, token: string, content: string): void {
    this.#firm(this.#decided.get(question) ?? [])
    if (this.#isAccepted) this.#expectSame(this.#contents, token, { is: content, what: 'the question of' })
    else {
      this.#expectSame(this.#tokens, question, { is: token, what: 'the token of' })
      this.#expectSame(this.#questions, token, { is: question, what: 'the question of' })
    }
  }

  /** An answer is on its way to a token. */
  tries(token: string, answer: string): void {
    const tried = this.#tried.get(token)
    if (tried === undefined) this.#tried.set(token, new Set([answer]))
    else tried.add(answer)
  }

  /** The engine or the storage has said that this answer counts. */
  acknowledged(token: string, answer: string): void {
    this.#expectSame(this.#acknowledged, token, { is: answer, what: 'the acknowledged answer of' })
  }

  /** A question got an answer that was given to its token: the acknowledged one, in every execution. */
  received(question: string, token: string, answer: Answer): void {
    this.#received.add(question)
    const acknowledged = this.#acknowledged.get(token)
    const got = answer.ok ? answer.output : 'no answer in time'
    if (acknowledged !== undefined && acknowledged !== got)
      this.wrong.push(`${question} got "${got}" instead of "${acknowledged}"`)
    if (answer.ok && this.#tried.get(token)?.has(answer.output) !== true)
      this.wrong.push(`${question} got "${got}", which was not given to its token`)
  }

  /** A child returns: the same in every execution. */
  returns(runId: string, output: string): void {
    this.#expectSame(this.#outputs, runId, { is: output, what: 'the output of' })
  }

  /** A question got the output of its child. */
  returned(question: string, runId: string, output: unknown): void {
    this.#received.add(question)
    if (output !== this.#outputs.get(runId))
      this.wrong.push(`${question} got "${String(output)}" of its child`)
  }

  /** An effect of `once` begins: it must not once its result is known. */
  effectBegins(key: string, decided: readonly Decision[]): void {
    this.#firm(decided)
    if (this.#effects.has(key)) this.wrong.push(`the effect ${key} was repeated`)
  }

  effectEnded(key: string, result: string): void {
    this.#expectSame(this.#effects, key, { is: result, what: 'the effect' })
  }

  /** A race is decided: once a question was asked after that, by the same part in every execution. */
  won({ race, part }: Decision): void {
    const before = this.#winners.get(race)
    if (this.#areRacesFair && before !== undefined && before !== part)
      this.wrong.push(`the race ${race} was won by part ${part} instead of ${before}`)
  }

  /** The questions of an attempt that were asked and whose answers have not come. */
  unanswered(attempt: number): readonly string[] {
    return [...this.#tokens.keys()].filter(
      (question) => question.startsWith(`${attempt}:`) && !this.#received.has(question),
    )
  }

  /** Something was done after these decisions: they stay. */
  #firm(decided: readonly Decision[]): void {
    for (const { race, part } of decided) this.#winners.set(race, part)
  }

  #expectSame(
    facts: Map<string, string>,
    key: string,
    { is, what }: { readonly is: string; readonly what: string },
  ): void {
    const was = facts.get(key)
    if (was !== undefined && was !== is) this.wrong.push(`${what} ${key} was "${was}" and became "${is}"`)
    facts.set(key, is)
  }
}
