import type { Names } from './names.ts'
import type { CallWatcher } from './observer.ts'
import type { StorageCall } from './storage-call.ts'
import { InvariantViolation } from './violation.ts'

/** Checks claims: the attempts of a run are numbered consecutively, and do not exceed its retry policy. */
export class AttemptWatcher implements CallWatcher {
  readonly #names: Names
  readonly #maxAttempts: (taskId: string) => number
  readonly #attempts = new Map<string, number>()

  constructor(names: Names, maxAttempts: (taskId: string) => number) {
    this.#names = names
    this.#maxAttempts = maxAttempts
  }

  answered(call: StorageCall): void {
    if (call.name !== 'runs.claim') return
    for (const { id, taskId, attempt, policyAttempt, optionsJson } of call.reply?.answer.runs ?? []) {
      const last = this.#attempts.get(id) ?? 0
      this.#attempts.set(id, attempt)
      if (attempt <= last) throw this.#violation(id, `attempt ${attempt} was claimed after attempt ${last}`)
      // The options of a trigger may allow more.
      const most = optionsJson === undefined ? this.#maxAttempts(taskId) : Infinity
      if (policyAttempt > most)
        throw this.#violation(id, `attempt ${policyAttempt} was claimed, but its policy allows ${most}`)
    }
  }

  #violation(id: string, what: string): InvariantViolation {
    return new InvariantViolation('attempts within policy', `run "${this.#names.of(id) ?? id}": ${what}`)
  }
}
