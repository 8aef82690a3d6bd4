import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { DiagnosticMessages } from '../../api/diagnostics.ts'
import { CALL_BOUNDARIES, RUN_BOUNDARIES } from '../../api/duration-boundaries.ts'
import type { CancelTimer } from '../../contract/clock.ts'
import type { Inside } from '../../core/inside.ts'
import { Histogram } from './histogram.ts'

/** A scraper that asks less often has left. */
const ASKED_EVERY_MS = 10 * 60_000

type Messages = Pick<DiagnosticMessages, 'waitpoint:run.end' | 'waitpoint:wait' | 'waitpoint:storage'>

/**
 * Measures how long runs, waits and storage calls of an engine take: from when it is first asked, until it is not asked for ten
 * minutes. Engines publish nothing for it before that, and after.
 */
export class Stopwatch {
  readonly runs: Histogram = new Histogram(RUN_BOUNDARIES)
  readonly waits: Histogram = new Histogram(RUN_BOUNDARIES)
  readonly calls: Histogram = new Histogram(CALL_BOUNDARIES)
  readonly #inside: Inside
  /** Since when runs wait, by the object of their messages. */
  readonly #since = new WeakMap<object, number>()
  #removals: (() => void)[] = []
  #cancelStop: CancelTimer = () => undefined

  constructor(inside: Inside) {
    this.#inside = inside
  }

  /** Measures from now on. */
  asked(): void {
    const { host } = this.#inside
    this.#cancelStop()
    const about = { label: 'the last look at durations', background: true }
    this.#cancelStop = host.clock.setTimer(host.now() + ASKED_EVERY_MS, () => this.#stop(), about)
    if (this.#removals.length > 0) return
    this.#removals = [
      this.#listen('waitpoint:run.end', ({ run, at }) => this.runs.add(run.taskId, at - run.createdAt)),
      this.#listen('waitpoint:storage', ({ call, calledAt, at }) => this.calls.add(call, at - calledAt)),
      this.#listen('waitpoint:wait', ({ phase, wait, run, at }) => {
        const since = this.#since.get(wait)
        if (phase === 'begin') this.#since.set(wait, at)
        else if (since !== undefined) this.waits.add(run.taskId, at - since)
      }),
    ]
  }

  /** Hears of this engine alone: a channel is of the process. The last that it hears is that the engine has left its storage. */
  #listen<Name extends keyof Messages>(name: Name, hear: (message: Messages[Name]) => void): () => void {
    const { host } = this.#inside
    const listener = (published: unknown): void => {
      // An engine publishes only these on the channel.
      const message = published as Messages[Name]
      if (message.engine !== host.owner) return
      hear(message)
      if (host.isClosed) this.#stop()
    }
    subscribe(name, listener)
    return () => void unsubscribe(name, listener)
  }

  #stop(): void {
    this.#cancelStop()
    for (const remove of this.#removals.splice(0)) remove()
  }
}
