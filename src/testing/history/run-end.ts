import type { RunRecord, RunStatus, TokenRecord } from '../../contract/records.ts'
import { isFinal } from '../../contract/run-states.ts'
import { fromJson, storedError } from '../../api/serialize.ts'
import { defined } from '../../primitives/defined.ts'
import { newQuestion, questionText, tokenQuestion } from '../in-flight/question.ts'
import type { HistoryError } from './shape.ts'

/** How a run has ended, or where it stands. What is absent was `undefined`. */
export interface RunEnd {
  /** `WAITING` for every run that has not ended. */
  readonly status: RunStatus
  readonly output?: unknown
  readonly error?: HistoryError
  /** The questions that a run waits for, sorted. */
  readonly waitsFor?: readonly string[]
}

/** @param waits The tokens that a run waits for which has not ended. */
export function endOf(
  { status, outputJson, errorJson }: Pick<RunRecord, 'status' | 'outputJson' | 'errorJson'>,
  waits: readonly TokenRecord[],
): RunEnd {
  if (!isFinal(status)) return { status: 'WAITING', waitsFor: waits.map(waitText).sort() }
  const error = errorJson === undefined ? undefined : bareError(errorJson)
  return { status, ...defined({ output: fromJson(outputJson), error }) }
}

/** Whether two runs ended alike. */
export function isSameEnd(one: RunEnd, other: RunEnd): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** A question without what another machine, or another time, would say otherwise. */
function waitText(token: TokenRecord): string {
  return questionText(newQuestion(tokenQuestion(token)))
}

/** An error without its stack. */
function bareError(errorJson: string): HistoryError {
  const { name, message, code } = storedError(errorJson)
  return { name, message, ...(code === undefined ? {} : { code }) }
}
