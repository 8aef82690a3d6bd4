import type { Host } from '../host/host.ts'

/** Runs that were put off here, by a delay or until the next attempt: live, so that the process waits for them. */
export class DelayedRuns {
  readonly #host: Host
  readonly #releases = new Map<string, Release>()

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
    if (this.#releases.get(runId)?.at === at) return
    const { clock } = this.#host
    const release = clock.hold?.({ kind: 'parked', id: runId })
    if (release === undefined) return
    this.remove(runId)
    const about = { label: `delay of ${runId}`, background: true }
    const cancel = clock.setTimer(at, () => this.remove(runId), about)
    const end = (): void => {
      cancel()
      release()
    }
    this.#releases.set(runId, { at, end })
  }

  /** The run is due, or is no longer to be executed. */
  remove(runId: string): void {
    const release = this.#releases.get(runId)
    this.#releases.delete(runId)
    release?.end()
  }

  clear(): void {
    for (const runId of [...this.#releases.keys()]) this.remove(runId)
  }
}

/** What ends the delay of a run, and when. */
interface Release {
  readonly at: number
  readonly end: () => void
}
