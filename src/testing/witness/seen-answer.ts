import type { Awaitable } from '../../contract/storage.ts'
import { isPromise } from '../../primitives/awaitable.ts'

/**
 * Looks at an answer of a storage before the caller does, and returns the very same value. A wrapper that answered one
 * microtask later would change the order of answers.
 */
export function seen<Answer>(answer: Awaitable<Answer>, look: (answer: Answer) => void): Awaitable<Answer> {
  if (isPromise(answer)) answer.then(look, () => undefined)
  else look(answer)
  return answer
}
