import type { RunRecord, WaitRecord } from '../../contract/records.ts'
import type { Storage } from '../../contract/storage.ts'
import { isFinal } from '../../contract/run-states.ts'
import type { Names } from './names.ts'
import type { CallWatcher } from './observer.ts'
import type { Process } from './process.ts'
import { type CallOf, isLook, type StorageCall } from './storage-call.ts'
import { type Invariant, InvariantViolation } from './violation.ts'

/** Checks the waits: every waiter is released once, none after a cancel, and storage knows the same waits. */
export class WaitWatcher implements CallWatcher {
  readonly #names: Names
  /** All waits ever requested. */
  readonly #asked = new Set<string>()
  /** The waits handed over by the call that settled them. */
  readonly #delivered = new Set<string>()
  /** The last attempts that claims have answered, by run. */
  readonly #attempts = new Map<string, number>()
  /** The waits known to storage, by run. */
  readonly #registered = new Map<string, Set<string>>()
  /** The runs whose cancel was acknowledged, with the instant. */
  readonly #canceled = new Map<string, number>()
  /** The owner names of the processes. */
  readonly #owners = new Map<string, Process>()
  /** Calls without an answer: pending, or failed by a fault. */
  readonly #unanswered = new Set<StorageCall>()

  constructor(names: Names) {
    this.#names = names
  }

  called(call: StorageCall): void {
    this.#unanswered.add(call)
    if (call.name === 'tokens.await') this.#asked.add(keyOf(call.args[0]))
    if (call.name === 'tick') this.#owners.set(call.args[0].owner, call.process)
    if (call.name !== 'tokens.release') return
    for (const { runId, tokenId } of call.args[0]) this.#registered.get(runId)?.delete(tokenId)
  }

  answered(call: StorageCall): void {
    this.#unanswered.delete(call)
    this.#caughtUp(call)
    if (call.name === 'tokens.await') this.#awaited(call)
    else if (call.name === 'tokens.settle') this.#settled(call)
    else if (call.name === 'runs.update') this.#updated(call)
    else if (call.name === 'tick') this.#ticked(call)
    else if (call.name === 'runs.resume') this.#resumed(call)
    else if (call.name === 'runs.claim') for (const run of call.reply?.answer.runs ?? []) this.#begun(run)
  }

  /** A muster answers also attempts that are under way. */
  #begun({ id, attempt }: RunRecord): void {
    if (this.#attempts.get(id) === attempt) return
    this.#attempts.set(id, attempt)
    this.#registered.delete(id)
  }

  async ended(storage: Storage, now: number): Promise<void> {
    const { records } = await storage.runs.list({ status: ['EXECUTING', 'WAITING'] }, { limit: 100 })
    // An executing run may hold the slot that others wait for.
    if (records.some(({ status }) => status === 'EXECUTING')) return
    for (const run of records) {
      const owner = this.#owners.get(run.owner ?? '')
      // Runs of a dead process are found when its lease ends, and what a fault has hidden when the engine asks again.
      if (owner?.isDead === false && !this.#asksAgain(owner)) await this.#checkParked(storage, run, now)
    }
  }

  async #checkParked(storage: Storage, run: RunRecord, now: number): Promise<void> {
    const name = this.#nameOf(run.id)
    const waits = this.#waitsOf(run.id)
    for (const tokenId of waits) {
      const token = await storage.tokens.get(tokenId, now)
      if (token === undefined || token.record.status === 'WAITING') continue
      const message = `${this.#nameOf(tokenId)} is ${token.record.status}, and run "${name}" still waits for it`
      throw new InvariantViolation('every waiter released exactly once', message)
    }
    const stored = await storage.runs.waits(run.id)
    if (waits.size === 0 && stored.length === 0)
      throw new InvariantViolation(
        'a run ends once its waits are answered',
        `run "${name}" is parked and waits for nothing`,
      )
    const lost = [...waits].filter((tokenId) => !stored.some(({ id }) => id === tokenId))
    if (lost.length === 0) return
    const message = `run "${name}" waits for ${lost.map((id) => this.#nameOf(id)).join(', ')}, and storage does not know`
    throw new InvariantViolation('waiter and storage agree', message)
  }

  /** Forgets the failed calls that this answer makes up for. */
  #caughtUp(answered: StorageCall): void {
    for (const call of this.#unanswered) {
      if (call.process !== answered.process || call.calledAt > answered.calledAt) continue
      // An engine makes the calls of a run again. A tick tells it what other calls would have told.
      const isMadeUpFor = call.name.startsWith('runs.') ? isSame(call, answered) : answered.name === 'tick'
      if (isMadeUpFor) this.#unanswered.delete(call)
    }
  }

  #asksAgain(process: Process): boolean {
    return [...this.#unanswered].some((call) => call.process === process && !isLook(call.name))
  }

  #awaited({ args: [{ runId, tokenId }], reply }: CallOf<'tokens.await'>): void {
    if (reply?.answer.outcome === 'registered') this.#waitsOf(runId).add(tokenId)
  }

  #settled(call: CallOf<'tokens.settle'>): void {
    const answer = call.reply?.answer
    if (answer !== undefined && answer !== 'stale') this.#handedOver(answer.ready, call)
  }

  #ticked(call: CallOf<'tick'>): void {
    for (const wait of call.reply?.answer.ready ?? []) this.#assertWanted(wait, call)
  }

  #resumed(call: CallOf<'runs.resume'>): void {
    if (call.reply?.answer.outcome === 'resumed') this.#assertNotCanceled(call.args[0].id, call)
  }

  #updated(call: CallOf<'runs.update'>): void {
    if (call.reply?.answer === undefined) return
    const { answer, answeredAt } = call.reply
    this.#handedOver(answer.ready, call)
    const { id, status } = answer.record
    if (status === 'CANCELED' && !this.#canceled.has(id)) this.#canceled.set(id, answeredAt)
    if (isFinal(status)) this.#registered.delete(id)
  }

  #handedOver(ready: readonly WaitRecord[] | undefined, call: StorageCall): void {
    for (const wait of ready ?? []) {
      this.#assertWanted(wait, call)
      const key = keyOf(wait)
      if (this.#delivered.has(key)) throw this.#violation(wait, 'was released twice')
      this.#delivered.add(key)
    }
  }

  #assertWanted(wait: WaitRecord, call: StorageCall): void {
    if (!this.#asked.has(keyOf(wait))) throw this.#violation(wait, 'was released without being asked for')
    this.#assertNotCanceled(wait.runId, call)
  }

  #assertNotCanceled(runId: string, { calledAt, name }: StorageCall): void {
    const canceledAt = this.#canceled.get(runId)
    if (canceledAt === undefined || canceledAt > calledAt) return
    const message = `run "${this.#nameOf(runId)}" was canceled, and ${name} still let it go on`
    throw new InvariantViolation('no delivery after cancel', message)
  }

  #waitsOf(runId: string): Set<string> {
    const known = this.#registered.get(runId)
    if (known !== undefined) return known
    const waits = new Set<string>()
    this.#registered.set(runId, waits)
    return waits
  }

  #violation({ tokenId, runId }: WaitRecord, what: string): InvariantViolation {
    const invariant: Invariant = 'every waiter released exactly once'
    const message = `the wait of run "${this.#nameOf(runId)}" for ${this.#nameOf(tokenId)} ${what}`
    return new InvariantViolation(invariant, message)
  }

  #nameOf(id: string): string {
    return this.#names.of(id) ?? id
  }
}

function keyOf({ tokenId, runId }: Pick<WaitRecord, 'tokenId' | 'runId'>): string {
  return `${tokenId} ${runId}`
}

/** Whether it is the same operation on the same record. */
function isSame(one: StorageCall, other: StorageCall): boolean {
  return one.name === other.name && idIn(one) === idIn(other)
}

function idIn({ args: [request] }: StorageCall): unknown {
  return typeof request === 'object' && 'id' in request ? request.id : undefined
}
