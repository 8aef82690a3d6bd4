import type { AnsweredBy, JsonSchema, Question } from '../api/question.ts'
import type { DefinedQuestion } from '../api/question-definition.ts'
import type { CompletedToken, RetrievedToken, TokenReference } from '../api/token.ts'
import { type CallState, useCall } from './calls.ts'
import { type Followed, type InitialOptions, useToken } from './following.ts'
import { useClient } from './provider.ts'

/** What a question is about, and what an answer to it is: of one that `question()` made. */
type DataOf<Asked> = Asked extends DefinedQuestion<infer Data, unknown> ? Data : unknown
type AnswerOf<Asked> = Asked extends DefinedQuestion<never, infer Answer> ? Answer : unknown

/** A question, as `useQuestion` has it. */
export interface QuestionOfPage<Data, Answer> extends Followed {
  /** Its token, which says in `status` whether it is answered, and in `output` how. */
  readonly token: RetrievedToken<Answer> | undefined
  readonly question: (Question & { readonly data?: Data }) | undefined
  /** What an answer is, if it can be said. */
  readonly schema: JsonSchema | undefined
  /** Who has won. */
  readonly answeredBy: AnsweredBy | undefined
  /** Answers it. Resolves with whether this answer has won; with `undefined` and an `error` if it is refused, as one that does not fit. */
  readonly answer: (output: Answer) => Promise<CompletedToken | undefined>
  readonly isAnswering: boolean
  /** What became of the answer of this component. */
  readonly result: CompletedToken | undefined
}

/** A question that waits for an answer, and its answer. `Asked` is the type of one that `question()` made. */
export function useQuestion<Asked = unknown>(
  id: TokenReference | undefined,
  options: InitialOptions<RetrievedToken<AnswerOf<Asked>>> = {},
): QuestionOfPage<DataOf<Asked>, AnswerOf<Asked>> {
  const { wait } = useClient()
  const { token, error: lost, status } = useToken<AnswerOf<Asked>>(id, options)
  const call = useCall(async (output: AnswerOf<Asked>) => {
    if (id === undefined) throw new Error('Cannot answer: there is no question yet')
    return wait.completeToken(id, output)
  })
  const { isPending, result, error, make }: CallState<CompletedToken> & { make: typeof call.make } = call
  return {
    token,
    status,
    // The definition that is named says of what type its data are.
    question: token?.question as QuestionOfPage<DataOf<Asked>, never>['question'],
    schema: token?.question?.schema,
    answeredBy: token?.answeredBy ?? result?.by,
    answer: make,
    isAnswering: isPending,
    result,
    error: error ?? lost,
  }
}
