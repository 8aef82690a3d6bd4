import type { Names } from './names.ts'
import type { CallWatcher } from './observer.ts'
import type { StorageCall } from './storage-call.ts'
import { InvariantViolation } from './violation.ts'

/** A claim that answered a run. */
interface Claimed {
  readonly attempt: number
  readonly by: string
  readonly number: number
}

/**
 * Checks claims: the attempts of a run are numbered upwards, and do not exceed its retry policy. A claim that is asked
 * again under its number, because its answer was lost, answers the same attempts.
 */
export class AttemptWatcher implements CallWatcher {
  readonly #names: Names
  readonly #maxAttempts: (taskId: string) => number
  readonly #claimed = new Map<string, Claimed>()

  constructor(names: Names, maxAttempts: (taskId: string) => number) {
    this.#names = names
    this.#maxAttempts = maxAttempts
  }

  answered(call: StorageCall): void {
    if (call.name !== 'runs.claim') return
    const { by, number } = call.args[0]
    for (const { id, taskId, attempt, policyAttempt, optionsJson } of call.reply?.answer.runs ?? []) {
      const last = this.#claimed.get(id)
      this.#claimed.set(id, { attempt, by, number })
      const isRepeated = last?.by === by && last.number === number && last.attempt === attempt
      if (last !== undefined && attempt <= last.attempt && !isRepeated)
        throw this.#violation(id, `attempt ${attempt} was claimed after attempt ${last.attempt}`)
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
