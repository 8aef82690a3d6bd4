import { type ReactElement } from 'react'
import { useQuestion } from 'waitpoint/react'

/** A question with a button for each answer, and who has won. */
export function Refund({ id }: { readonly id: string }): ReactElement {
  const { question, answer, isAnswering, answeredBy, token, error } = useQuestion(id)
  return (
    <section>
      <h1 data-testid="question">{question?.message}</h1>
      {question?.choices?.map((choice) => (
        <button
          key={choice}
          disabled={isAnswering || token?.status !== 'WAITING'}
          onClick={() => void answer(choice)}
        >
          {choice}
        </button>
      ))}
      <p data-testid="answered">{error?.message ?? answeredBy?.name ?? token?.status}</p>
    </section>
  )
}
