import type { TokenRecord } from '../../contract/records.ts'
import type { AnsweredBy, Question } from '../../api/question.ts'
import type { ReadValues } from '../../api/values.ts'

/** The question of a token and who answered it, as members of what is shown. */
export function questionMembers(
  { questionJson, answeredJson }: Pick<TokenRecord, 'questionJson' | 'answeredJson'>,
  values: ReadValues,
): { readonly question?: Question; readonly answeredBy?: AnsweredBy } {
  return {
    ...(questionJson === undefined ? {} : { question: shown(questionJson, values) }),
    ...(answeredJson === undefined ? {} : { answeredBy: JSON.parse(answeredJson) as AnsweredBy }),
  }
}

function shown(questionJson: string, values: ReadValues): Question {
  const question = JSON.parse(questionJson) as Question
  return question.data === undefined ? question : { ...question, data: values.decode(question.data) }
}
