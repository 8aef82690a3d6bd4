import type { Names } from './names.ts'
import type { CallWatcher } from './observer.ts'
import type { StorageCall } from './storage-call.ts'
import { InvariantViolation } from './violation.ts'

/** Checks that every wait is made in the async context of its run. */
export class ContextWatcher implements CallWatcher {
  readonly #names: Names

  constructor(names: Names) {
    this.#names = names
  }

  called(call: StorageCall): void {
    if (call.name !== 'tokens.await') return
    const { runId } = call.args[0]
    if (call.runId === undefined || call.runId === runId) return
    const [waiting, calling] = [runId, call.runId].map((id) => this.#names.of(id) ?? id)
    const message = `a wait of run "${waiting}" was made in the context of run "${calling}"`
    throw new InvariantViolation('context preserved', message)
  }
}
