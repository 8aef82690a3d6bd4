import { type AttemptFence, STORAGE_CALLS } from '../../contract/storage.ts'
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
function writtenBy({ name, args, reply }: StorageCall): AttemptFence | undefined {
  const kind = STORAGE_CALLS[name].fence
  if (kind === undefined || reply === undefined || !tookEffect(reply.answer)) return undefined
  const [request] = args as unknown as readonly [FencedRequest]
  if (kind === 'given') return request.fence
  const { id = '', runId = id, expected, epoch = expected?.epoch } = request
  return epoch === undefined ? undefined : { runId, epoch }
}

/** A request of a call with a fence: how it names the attempt. */
interface FencedRequest {
  readonly fence?: AttemptFence
  readonly id?: string
  readonly runId?: string
  readonly epoch?: number
  readonly expected?: { readonly epoch?: number | undefined }
}

const EFFECTS: ReadonlySet<unknown> = new Set(['resumed', 'registered'])

function tookEffect(answer: unknown): boolean {
  if (typeof answer === 'object' && answer !== null && 'outcome' in answer) return EFFECTS.has(answer.outcome)
  return answer !== undefined && answer !== 'stale' && answer !== 'closed'
}
