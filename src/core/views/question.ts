import type { TokenRecord } from '../../contract/records.ts'
import type { AnsweredBy, Question, Withdrawal } from '../../api/question.ts'
import type { CompletedToken } from '../../api/token.ts'
import type { ReadValues } from '../../api/values.ts'

/** `answeredJson` of a token. */
export interface StoredAnswer extends Withdrawal {
  /** By which the call of a run that withdrew the token knows that it has won, if its answer is lost. */
  readonly call?: string | undefined
}

/** Who settled a token, if that is known. */
export function answeredBy({ answeredJson }: Pick<TokenRecord, 'answeredJson'>): Withdrawal | undefined {
  if (answeredJson === undefined) return undefined
  const { call: _, ...by } = JSON.parse(answeredJson) as StoredAnswer
  return by
}

/** Who withdrew a token: a deadline that passes by itself names no one. */
export function withdrawalOf(record: Pick<TokenRecord, 'status' | 'answeredJson'>): Withdrawal | undefined {
  return record.status === 'TIMED_OUT' ? answeredBy(record) : undefined
}

/** The question of a token and who answered or withdrew it, as members of what is shown. */
export function questionMembers(
  record: Pick<TokenRecord, 'status' | 'questionJson' | 'answeredJson'>,
  values: ReadValues,
): { readonly question?: Question; readonly answeredBy?: AnsweredBy; readonly withdrawn?: Withdrawal } {
  const question = questionOf(record)
  const by = answeredBy(record)
  return {
    ...(question && { question: shown(question, values) }),
    ...(by && { [record.status === 'TIMED_OUT' ? 'withdrawn' : 'answeredBy']: by }),
  }
}

function shown(question: Question, values: ReadValues): Question {
  return question.data === undefined ? question : { ...question, data: values.decode(question.data) }
}

/** What became of a completion of a settled token. */
export function completedToken(record: TokenRecord, success: boolean): CompletedToken {
  const { status } = record
  const by = answeredBy(record)
  return by === undefined ? { success, status } : { success, status, by }
}

/** What a token asks, with its data as they are stored; `undefined` for a plain token. */
export function questionOf({ questionJson }: Pick<TokenRecord, 'questionJson'>): Question | undefined {
  return questionJson === undefined ? undefined : (JSON.parse(questionJson) as Question)
}
