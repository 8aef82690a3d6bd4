import type { CancelTimer } from '../../contract/clock.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { Host } from '../host/host.ts'
import type { Slots } from '../slots/slots.ts'

/** A trial is alone for half as long as the one after the next death, and for as long as it may after so many. */
const DOUBLED = 4

interface Parts {
  readonly host: Host
  readonly slots: Slots
}

export interface TrialSettings {
  readonly maxInterruptions: number
  readonly isolationMs: number
}

/**
 * Runs that are executed alone, because their process has died with them again and again. An idle engine tries one at once. One that
 * is never idle begins no other run for a while, so that it becomes empty, and serves the others for as long before it does so again.
 */
export class Trials {
  readonly #kernel: Parts
  readonly #settings: TrialSettings
  readonly #claim: () => void
  /** A suspect waits to be alone while others are served since then. */
  #servedSince: number | undefined
  /** No other run begins since then. */
  #heldSince: number | undefined
  /** The claim that is out asks for a suspect. */
  #isAsked = false
  /** The suspect that is executed alone. */
  #tried: RunRecord | undefined
  #isDue = false
  /** How long no other run begins so that the engine becomes empty: twice as long after each time that it did not. */
  #emptyingMs: number
  /** When a suspect was last asked for, and another engine had it. */
  #vainAt = -Infinity
  #cancel: CancelTimer | undefined

  /** @param claim Has runs claimed, in a microtask of its own. */
  constructor(kernel: Parts, settings: TrialSettings, claim: () => void) {
    this.#kernel = kernel
    this.#settings = settings
    this.#claim = claim
    this.#emptyingMs = settings.isolationMs / 2 ** DOUBLED
  }

  /** Whether the claim that is out is to ask for a suspect. */
  get isAsked(): boolean {
    return this.#isAsked
  }

  /** A new claim is made; answers whether it is to ask for a suspect. */
  ask(): boolean {
    const isNext = this.#heldSince !== undefined && this.#tried === undefined
    return (this.#isAsked = isNext && this.#kernel.slots.isEmpty)
  }

  /** Storage has answered the claim, or the muster that follows one. */
  answered(runs: readonly RunRecord[], isDue: boolean = this.#isDue): void {
    this.#isDue = isDue
    if (this.#isAsked) this.#tried = runs[0]
  }

  /** The claimed runs have started. */
  started(): void {
    const { slots, host } = this.#kernel
    if (host.isClosing) return
    const now = host.now()
    if (this.#isAsked) this.#try(now)
    // It became empty while a claim was out that asked for none.
    else if (this.#heldSince !== undefined) {
      if (slots.isEmpty) this.#claim()
    } else if (this.#isDue) this.#wait(now)
    else {
      this.#cancel?.()
      this.#servedSince = undefined
    }
  }

  close(): void {
    this.#cancel?.()
  }

  #try(now: number): void {
    const { isolationMs, maxInterruptions } = this.#settings
    this.#isAsked = false
    if (this.#tried === undefined) this.#vainAt = now
    // It was none, or is over already.
    if (this.#kernel.slots.isEmpty || this.#heldSince === undefined) this.#end()
    else {
      const left = maxInterruptions + DOUBLED - (this.#tried?.interruptions ?? 0)
      this.#emptyingMs = isolationMs / 2 ** DOUBLED
      const end = Math.min(this.#heldSince + isolationMs, now + isolationMs / 2 ** Math.max(0, left))
      this.#setTimer(end, () => this.#end())
    }
  }

  #wait(now: number): void {
    const { isEmpty } = this.#kernel.slots
    this.#servedSince = Math.min(this.#servedSince ?? now, now)
    const dueAt = this.#servedSince + this.#settings.isolationMs
    if ((isEmpty && now > this.#vainAt) || now >= dueAt) this.#begin(now)
    else this.#setTimer(dueAt, this.#claim)
  }

  #begin(now: number): void {
    const { slots } = this.#kernel
    this.#heldSince = now
    this.#setTimer(now + this.#emptyingMs, () => {
      this.#emptyingMs = Math.min(this.#emptyingMs * 2, this.#settings.isolationMs / 2)
      this.#end()
    })
    slots.hold(() => (this.#tried === undefined ? this.#claim() : this.#end()))
    if (slots.isEmpty) this.#claim()
  }

  #setTimer(at: number, act: () => void): void {
    this.#cancel?.()
    this.#cancel = this.#kernel.host.clock.setTimer(at, act, { label: 'the trial of a run' })
  }

  #end(): void {
    this.#cancel?.()
    this.#tried = undefined
    this.#heldSince = undefined
    const { slots, host } = this.#kernel
    this.#servedSince = host.now()
    slots.endHold()
    this.#claim()
  }
}
