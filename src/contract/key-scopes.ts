import { RUN_ID_START } from './id-prefixes.ts'
import type { RunRecord } from './records.ts'

/** How the scopes of keys of `debounce` begin. */
export const DEBOUNCE_SCOPE = 'debounce/'

/** Idempotency keys that users gave, unlike those that waits in a run have by their place. */
export function isUserKey(scope: string): boolean {
  return !scope.startsWith(RUN_ID_START) && !scope.startsWith(DEBOUNCE_SCOPE)
}

/** The key of `debounce` that a run was triggered with. */
export function debounceKeyOf({ key }: RunRecord): string | undefined {
  return key?.scope.startsWith(DEBOUNCE_SCOPE) === true ? key.value : undefined
}
