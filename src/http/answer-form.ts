import { formOf, type FormModel } from '../answer-page/form.ts'
import type { AnswerPageOptions } from '../answer-page/texts.ts'
import { answerOf, type ReadAnswer, ROOT, type SentField } from '../answer-page/values.ts'
import { OutputInvalidError, WaitpointError } from '../api/errors.ts'
import type { Answerer, Question } from '../api/question.ts'
import type { Engine } from '../core/engine.ts'
import type { Turns } from '../core/inside.ts'
import { isApprover } from '../questions/approvers.ts'
import { refusalOf } from './refusal.ts'
import { boundJson } from './requests/bounded-parts.ts'
import { refusingWrongInput } from './requests/wrong-input.ts'

/** A form that was sent for a token that waits. */
export interface SentForm {
  readonly token: { readonly id: string; readonly question?: Question | undefined }
  readonly by: Answerer
  readonly fields: readonly SentField[]
  readonly options?: AnswerPageOptions
  /** Others have theirs before a large answer is read, and before it is stored. */
  readonly turns: Turns
}

/** What became of it. All but `won` change nothing. */
export type FormOutcome =
  Exclude<ReadAnswer, { readonly kind: 'answer' }> | { readonly kind: 'won' | 'lost' | 'no approver' }

/** The form that asks for the answer of a token. */
export function modelOf({ question = {} }: { readonly question?: Question | undefined }): FormModel {
  const { schema, choices } = question
  return formOf({ ...(schema !== undefined && { schema }), ...(choices !== undefined && { choices }) })
}

/**
 * Answers a token by a form: that of its link, or the console's.
 *
 * @throws Refusal 413 for JSON with too many parts.
 */
export async function answerByForm(
  engine: Engine,
  { token, by, fields, options, turns }: SentForm,
): Promise<FormOutcome> {
  if (!isApprover(token.question ?? {}, by)) return { kind: 'no approver' }
  const model = modelOf(token)
  const size = fields.reduce((sum, [, value]) => sum + value.length, 0)
  if (model.kind === 'json') boundJson(fields.find(([name]) => name === ROOT)?.[1] ?? '')
  await turns.next(size)
  const read = answerOf(model, fields, options)
  await turns.next(size)
  if (read.kind !== 'answer') return read
  try {
    const { success } = await refusingWrongInput(() =>
      engine.wait.completeToken(token.id, read.value, { by }),
    )
    return { kind: success ? 'won' : 'lost' }
  } catch (error) {
    if (error instanceof OutputInvalidError) return { kind: 'errors', errors: error.issues }
    const { status, message } = refusalOf(error)
    // It cannot be stored: it is nested too deeply.
    if (status === 400) return { kind: 'errors', errors: [{ path: [], message }] }
    // The approvers are others now.
    if (error instanceof WaitpointError && error.code === 'ERR_NOT_APPROVER') return { kind: 'no approver' }
    throw error
  }
}
