import type { Host } from './host.ts'

/** Runs that were put off here, by a delay or until the next attempt: live, so that the process waits for them. */
export class DelayedRuns {
  readonly #host: Host
  readonly #releases = new Map<string, () => void>()

  constructor(host: Host) {
    this.#host = host
  }

  get ids(): Iterable<string> {
    return this.#releases.keys()
  }

  has(runId: string): boolean {
    return this.#releases.has(runId)
  }

  /** The run is due at `at`: whoever executes it then says for itself that it is busy. */
  add(runId: string, at: number): void {
    const { clock } = this.#host
    const release = clock.hold?.({ kind: 'parked', id: runId })
    if (release === undefined) return
    this.remove(runId)
    const about = { label: `end of the delay of ${runId}`, background: true }
    const cancel = clock.setTimer(at, () => this.remove(runId), about)
    this.#releases.set(runId, () => {
      cancel()
      release()
    })
  }

  /** The run is due, or is no longer to be executed. */
  remove(runId: string): void {
    const release = this.#releases.get(runId)
    this.#releases.delete(runId)
    release?.()
  }

  clear(): void {
    for (const runId of [...this.#releases.keys()]) this.remove(runId)
  }
}
