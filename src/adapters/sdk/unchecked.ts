import { AsyncLocalStorage } from 'node:async_hooks'

/** A trigger by id, and how many of its payloads the engine has yet to check. */
interface UncheckedTrigger {
  readonly id: string
  left: number
}

const triggers = new AsyncLocalStorage<UncheckedTrigger>()

/** Triggers so many runs of a task by its id: their payloads are checked when they are executed. */
export function unchecked<Result>(id: string, count: number, trigger: () => Result): Result {
  return triggers.run({ id, left: count }, trigger)
}

/**
 * Whether this check of a payload is one that a trigger by id leaves out. It is asked once for each: the run that is
 * triggered may be executed in the same context, and is checked there.
 */
export function isLeftOut(id: string): boolean {
  const trigger = triggers.getStore()
  if (trigger?.id !== id || trigger.left === 0) return false
  trigger.left -= 1
  return true
}
