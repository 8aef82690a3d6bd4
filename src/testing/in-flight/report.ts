import type { InFlightDeparture } from './departure.ts'
import { type InFlightHint, NameHints } from './name-hints.ts'
import type { RunInFlight } from './course.ts'
import { questionText } from './question.ts'

/** What a deployment would do to the runs that are in flight. */
export interface InFlightReport {
  /** Runs that were checked. */
  readonly checked: number
  /** Runs that come to their wait on the new code, and runs that have nothing to come to. */
  readonly fits: number
  /** Runs that do not. */
  readonly departed: number
  /** Those of them that are kept, the newest run first. */
  readonly departures: readonly InFlightDeparture[]
  /** Tasks whose waits would be safer with names. */
  readonly hints: readonly InFlightHint[]
  /** The report as a text, for people. */
  toString(): string
}

/** A report that grows by one run after the other, and keeps only so many departures. */
export class GrowingReport implements InFlightReport {
  readonly #maxDepartures: number
  readonly #names = new NameHints()
  readonly departures: InFlightDeparture[] = []
  fits = 0
  departed = 0

  constructor(maxDepartures: number) {
    this.#maxDepartures = maxDepartures
  }

  add(stored: RunInFlight, departure: InFlightDeparture | undefined): void {
    this.#names.add(stored)
    if (departure === undefined) this.fits += 1
    else {
      this.departed += 1
      if (this.departures.length < this.#maxDepartures) this.departures.push(departure)
    }
  }

  get checked(): number {
    return this.fits + this.departed
  }

  get hints(): readonly InFlightHint[] {
    return this.#names.hints
  }

  toString(): string {
    const { checked, fits, departed, departures } = this
    const more = departed - departures.length
    return [
      `Runs in flight: ${checked} checked, ${fits} fit, ${departed} depart.`,
      ...departures.map(({ reason, message }) => `${reason}: ${message}`),
      ...(more === 0 ? [] : [`… and ${more} more`]),
      ...this.hints.map(hintText),
    ].join('\n')
  }
}

function hintText({ taskId, runs, waits }: InFlightHint): string {
  const asked = [...waits.slice(0, 2).map((wait) => questionText(wait)), ...(waits.length > 2 ? ['…'] : [])]
  return `hint: task "${taskId}" waits for several things at once without names, in ${runs} of these runs (${asked.join('; ')}): names tell them apart over any change of code`
}
