import { type InFlightQuestion, questionText } from '../in-flight/question.ts'

/**
 * - `new-question`: the code asks something that the run of the history did not ask. There is no answer to it.
 * - `effect`: the code calls `once`, and the history has no result of that effect.
 * - `unanswered`: the code waits, and the history has no answer: it was given to another question, or never.
 * - `not-asked`: the run ended otherwise, and the code did not ask what the run of the history asked.
 * - `unreached`: the code awaits something outside of the engine, and does not come back.
 */
export type HistoryDepartureReason = 'new-question' | 'effect' | 'unanswered' | 'not-asked' | 'unreached'

/** The first place where the present code and a history differ. */
export interface HistoryDeparture {
  readonly reason: HistoryDepartureReason
  /** The departure in one sentence. */
  readonly message: string
  /** What the run of the history asked there. */
  readonly expected?: InFlightQuestion
  /** What the code asks instead. */
  readonly asked?: InFlightQuestion
}

/** A departure without its words. */
export interface Difference {
  readonly reason: HistoryDepartureReason
  readonly asked?: InFlightQuestion | undefined
  readonly expected?: InFlightQuestion | undefined
}

const HAPPENED: Readonly<Record<HistoryDepartureReason, (asked: string) => string>> = {
  'new-question': (asked) => `it asks what the history does not have: ${asked}`,
  effect: (asked) => `it calls ${asked}, of which the history has no result; give one by \`effects\``,
  unanswered: (asked) => `it waits for an answer that the history does not have: ${asked}`,
  'not-asked': () => 'it ended otherwise',
  unreached: () => 'its code awaits something outside of the engine that does not end',
}

/** A departure of a run, in words. */
export function historyDeparture(
  { id, taskId }: { readonly id: string; readonly taskId: string },
  { reason, asked, expected }: Difference,
): HistoryDeparture {
  const happened = HAPPENED[reason](asked === undefined ? 'something' : questionText(asked))
  const instead = expected === undefined ? '' : `; the history goes on with ${questionText(expected)}`
  return {
    reason,
    message: `Run "${id}" of task "${taskId}" departs from its history: ${happened}${instead}`,
    ...(expected === undefined ? {} : { expected }),
    ...(asked === undefined ? {} : { asked }),
  }
}
