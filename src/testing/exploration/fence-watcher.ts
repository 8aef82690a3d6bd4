import type { Names } from './names.ts'
import type { CallWatcher } from './observer.ts'
import type { StorageCall } from './storage-call.ts'
import { InvariantViolation } from './violation.ts'

/** An attempt of a run that an engine was given. */
interface Given {
  readonly epoch: number
  readonly answeredAt: number
}

/** Checks fences: when an engine was given a run, attempts before that one write nothing any more. */
export class FenceWatcher implements CallWatcher {
  readonly #names: Names
  readonly #given = new Map<string, Given>()

  constructor(names: Names) {
    this.#names = names
  }

  answered(call: StorageCall): void {
    if (call.name === 'runs.claim')
      for (const { id, epoch } of call.reply?.answer.runs ?? []) this.#give(id, epoch, call)
    const written = writtenBy(call)
    if (written === undefined) return
    const given = this.#given.get(written.runId)
    // A call that was made before may have been carried out before.
    if (given === undefined || written.epoch >= given.epoch || call.calledAt < given.answeredAt) return
    const name = this.#names.of(written.runId) ?? written.runId
    const message = `run "${name}" was given to another attempt, and ${call.name} of the one before it took effect`
    throw new InvariantViolation('a run has one attempt that writes', message)
  }

  #give(id: string, epoch: number, { reply }: StorageCall): void {
    if (reply === undefined || epoch <= (this.#given.get(id)?.epoch ?? -1)) return
    this.#given.set(id, { epoch, answeredAt: reply.answeredAt })
  }
}

/** The attempt whose write took effect, as far as the answer tells. */
function writtenBy(call: StorageCall): { readonly runId: string; readonly epoch: number } | undefined {
  if (call.reply === undefined) return undefined
  switch (call.name) {
    case 'runs.update': {
      const { id: runId, expected } = call.args[0]
      const { epoch } = expected
      return call.reply.answer === undefined || epoch === undefined ? undefined : { runId, epoch }
    }
    case 'runs.park':
      return call.reply.answer === undefined
        ? undefined
        : { runId: call.args[0].id, epoch: call.args[0].epoch }
    case 'runs.resume':
      return call.reply.answer.outcome === 'resumed'
        ? { runId: call.args[0].id, epoch: call.args[0].epoch }
        : undefined
    case 'tokens.await':
      return call.reply.answer.outcome === 'registered' ? call.args[0] : undefined
    case 'runs.insert':
    case 'tokens.insert':
    case 'tokens.settle':
      return call.reply.answer === 'stale' ? undefined : call.args[0].fence
    default:
      return undefined
  }
}
