import type { Awaitable } from '../../contract/storage.ts'
import { isPromise } from '../../primitives/awaitable.ts'

/**
 * Looks at an answer of a storage before whoever asked does, and hands on the very same one: a wrapper that answered a
 * microtask later would change the order in which answers to different questions come.
 */
export function seen<Answer>(answer: Awaitable<Answer>, look: (answer: Answer) => void): Awaitable<Answer> {
  if (isPromise(answer)) answer.then(look, () => undefined)
  else look(answer)
  return answer
}
