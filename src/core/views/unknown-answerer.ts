import type { Answerer } from '../../api/question.ts'

/**
 * Stands for an answerer of whom only the way is known, as for the URL of a token. Callers of the public API cannot make one: they say
 * who answers, or nothing.
 */
export class UnknownAnswerer implements Answerer {
  declare readonly id: string
  readonly via: string

  constructor(via: string) {
    this.via = via
  }
}
