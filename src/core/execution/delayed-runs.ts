import type { Host } from '../host/host.ts'
import type { Ticker } from '../host/ticker.ts'

interface Parts {
  readonly host: Host
  readonly ticker: Ticker
}

/** Runs that were put off here, by a delay or until the next attempt: live, so that the process waits for them. */
export class DelayedRuns {
  readonly #kernel: Parts
  readonly #delays = new Map<string, Delay>()

  constructor(kernel: Parts) {
    this.#kernel = kernel
  }

  get ids(): Iterable<string> {
    return this.#delays.keys()
  }

  has(runId: string): boolean {
    return this.#delays.has(runId)
  }

  /** The run is due at `at`: the engine that executes it then says for itself that it is busy. */
  add(runId: string, at: number): void {
    const { host, ticker } = this.#kernel
    if (host.isClosed) return
    ticker.dueAt(at, `run ${runId}`)
    if (this.#delays.get(runId)?.at === at) return
    const { clock } = host
    const release = clock.hold?.({ kind: 'parked', id: runId })
    if (release === undefined) return
    this.remove(runId)
    const about = { label: `delay of ${runId}`, background: true }
    const cancel = clock.setTimer(at, () => this.remove(runId), about)
    const end = (): void => {
      cancel()
      release()
    }
    this.#delays.set(runId, { at, end })
  }

  /** The run is due, or is no longer to be executed. */
  remove(runId: string): void {
    const delay = this.#delays.get(runId)
    this.#delays.delete(runId)
    delay?.end()
  }

  /** The run was canceled or has been started elsewhere: its delay is no longer waited for. */
  cancel(runId: string): void {
    const delay = this.#delays.get(runId)
    if (delay === undefined) return
    this.remove(runId)
    this.#kernel.ticker.notDue(delay.at)
  }

  clear(): void {
    for (const runId of [...this.#delays.keys()]) this.remove(runId)
  }
}

/** The instant that a run is put off to, and how its delay is ended. */
interface Delay {
  readonly at: number
  readonly end: () => void
}
