import type { RunRecord } from '../../contract/records.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'

/** Runs that something happened to while the answer to a call was not known: these, any, or none. */
type Doubtful = Set<string> | 'any' | undefined

/**
 * A call that may give this engine runs: a claim, or the insert of a run. It is open until its runs have started, or are known to be
 * none; slots are kept for them. A muster is a claim that finds out for calls whose answers were lost.
 */
export interface Ticket {
  /** The run that an insert is to claim. */
  readonly runId: string | undefined
  readonly by: string
  /** The calls that a muster finds out for. */
  readonly lost: readonly Ticket[]
  /** When it was asked, or its runs were looked at. */
  now: number
  doubtful: Doubtful
  /** For callers that wait for the end of it. */
  closed: Deferred<void> | undefined
}

const NONE: readonly never[] = []

/** The calls that may give this engine runs, and of which it does not know yet whether they did. */
export class Tickets {
  /** Those of inserts, also of those whose answers were lost. */
  readonly #inserts = new Map<string, Ticket>()
  /** The claim or the muster that is out. */
  #claim: Ticket | undefined
  #lost: Ticket[] = []
  /** Runs that were canceled here, and that this engine held by a claim whose answer had not come. */
  readonly #canceled = new Map<string, RunRecord>()

  /** The insert of a run is out. */
  get inserts(): ReadonlyMap<string, Ticket> {
    return this.#inserts
  }

  get isClaimOut(): boolean {
    return this.#claim !== undefined
  }

  /** The answers to some were lost: a muster is to be made. */
  get areLost(): boolean {
    return this.#lost.length > 0
  }

  open({ runId, by, now }: Pick<Ticket, 'runId' | 'by' | 'now'>): Ticket {
    const isMuster = runId === undefined && this.#lost.length > 0
    const lost = isMuster ? this.#lost : NONE
    if (isMuster) this.#lost = []
    const ticket = { runId, by, lost, now, doubtful: undefined, closed: undefined }
    if (runId === undefined) this.#claim = ticket
    else this.#inserts.set(runId, ticket)
    return ticket
  }

  /** The answer was lost: it may have given runs. */
  lose(ticket: Ticket): void {
    if (ticket.lost.length > 0) this.#lost.push(...ticket.lost)
    else this.#lost.push(ticket)
    if (ticket.runId !== undefined) return
    this.#claim = undefined
    ticket.closed?.resolve()
  }

  /** Its runs have started, or it has given none. */
  close(ticket: Ticket): void {
    if (ticket.runId === undefined) this.#claim = undefined
    else this.#inserts.delete(ticket.runId)
    ticket.closed?.resolve()
    if (!this.isClaimOut && !this.areLost) this.#canceled.clear()
  }

  /** Something happened to a run that does not execute here. */
  changed(runId: string): void {
    for (const ticket of [this.#claim, this.#inserts.get(runId)]) {
      if (ticket === undefined || ticket.doubtful === 'any') continue
      ticket.doubtful ??= new Set()
      ticket.doubtful.add(runId)
    }
  }

  /** A run was canceled here that this engine held and had not begun. */
  canceled(record: RunRecord): void {
    if (this.isClaimOut || this.areLost) this.#canceled.set(record.id, record)
  }

  /** It was found among those that were given. */
  forget(runId: string): void {
    this.#canceled.delete(runId)
  }

  /** A muster was answered: canceled runs that it does not know were given by answers that were lost. */
  takeCanceled(): readonly RunRecord[] {
    const canceled = [...this.#canceled.values()]
    this.#canceled.clear()
    return canceled
  }

  /** Hints were lost: something may have happened to any run. */
  hintsLost(): void {
    if (this.#claim !== undefined) this.#claim.doubtful = 'any'
    for (const ticket of this.#inserts.values()) ticket.doubtful = 'any'
  }

  /** Resolves when no call is out that may give this run. */
  async closed(runId: string): Promise<void> {
    await untilClosed(this.#inserts.get(runId))
    await untilClosed(this.#claim)
  }

  /** The engine is closed: it makes no muster that would tell. */
  end(): void {
    for (const { closed } of this.#inserts.values()) closed?.resolve()
  }
}

async function untilClosed(ticket: Ticket | undefined): Promise<void> {
  if (ticket === undefined) return
  ticket.closed ??= createDeferred<void>()
  await ticket.closed.promise
}

/** The runs that were given and may have changed on the way. */
export function doubtfulOf({ doubtful }: Ticket, runs: readonly RunRecord[]): readonly RunRecord[] {
  if (doubtful === undefined) return NONE
  return doubtful === 'any' ? runs : runs.filter(({ id }) => doubtful.has(id))
}
