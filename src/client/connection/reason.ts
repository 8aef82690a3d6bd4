import { messageOf } from '../../primitives/message.ts'

/** Why a request failed: `fetch` says it in the cause of its error; with several addresses, in the first of several errors. */
export function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? thrown.cause : undefined
  if (!(cause instanceof Error)) return messageOf(thrown)
  return messageOf(cause instanceof AggregateError ? (cause.errors[0] ?? thrown) : cause)
}
