import type { Names } from './names.ts'
import type { CallWatcher } from './observer.ts'
import type { StorageCall } from './storage-call.ts'
import { InvariantViolation } from './violation.ts'

/** A claim that answered a run. */
interface Claimed {
  readonly attempt: number
  readonly by: string
  readonly isMuster: boolean
  readonly calledAt: number
  readonly answeredAt: number
}

/**
 * Checks claims: the attempts of a run are numbered upwards, and do not exceed its retry policy. A muster answers the attempts that are
 * under way.
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
    const { by, limit } = call.args[0]
    const { calledAt } = call
    const answeredAt = call.reply?.answeredAt ?? calledAt
    for (const { id, taskId, attempt, policyAttempt, optionsJson } of call.reply?.answer.runs ?? []) {
      this.#claim(id, { attempt, by, isMuster: limit === 0, calledAt, answeredAt })
      // The options of a trigger may allow more.
      const most = optionsJson === undefined ? this.#maxAttempts(taskId) : Infinity
      if (policyAttempt > most)
        throw this.#violation(id, `attempt ${policyAttempt} was claimed, but its policy allows ${most}`)
    }
  }

  #claim(id: string, claimed: Claimed): void {
    const last = this.#claimed.get(id)
    // An answer that comes late: another engine has claimed the run since.
    const isPassed =
      last !== undefined && claimed.attempt < last.attempt && claimed.calledAt < last.answeredAt
    if (isPassed) return
    this.#claimed.set(id, claimed)
    if (last === undefined || claimed.attempt > last.attempt || isRepeated(claimed, last)) return
    throw this.#violation(id, `attempt ${claimed.attempt} was claimed after attempt ${last.attempt}`)
  }

  #violation(id: string, what: string): InvariantViolation {
    return new InvariantViolation('attempts within policy', `run "${this.#names.of(id) ?? id}": ${what}`)
  }
}

function isRepeated(one: Claimed, other: Claimed): boolean {
  return one.isMuster && one.by === other.by && one.attempt === other.attempt
}
