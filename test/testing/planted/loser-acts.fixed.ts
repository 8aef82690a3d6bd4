import { twoAnswers } from './loser-acts.ts'
import type { Planted } from './planted.ts'

/** The twin without the bug: only the answer that won is acted on. */
export const loserActs: Planted = {
  body: twoAnswers(({ success }) => success),
  options: {},
  breaks: 'the body holds',
}
