import type { Executed, Step } from './schedule-record.ts'

/**
 * The number of steps after which a schedule is where the FIFO schedule is after as many: it has had the same steps with the
 * same answers, and in another order only quiet ones. All that can follow follows there, too. `Infinity` if it is not, after its
 * last departure.
 */
export function backInOrder({ steps, decisions }: Executed, fifo: Executed): number {
  const departures = decisions.filter(({ index }) => index > 0)
  const first = departures[0]?.step ?? 0
  const last = departures.at(-1)?.step ?? 0
  const difference = new Difference()
  const end = Math.min(steps.length, fifo.steps.length)
  for (let place = first; place < end; place += 1) {
    const [ours, theirs] = [steps[place], fifo.steps[place]]
    if (ours === undefined || theirs === undefined) break
    if (place > last && difference.isNone && isSameMoment(ours, theirs)) return place
    difference.add(ours, theirs)
    if (difference.isForGood) break
  }
  return Infinity
}

/** What one of two schedules has had so far and the other has not. */
class Difference {
  /** How much more often a quiet step was in the first of them; negative: in the second. */
  readonly #quiet = new Map<string, number>()
  /** The other steps that only one of them has had, in order. */
  readonly #others: readonly [string[], string[]] = [[], []]
  #isForGood = false

  get isNone(): boolean {
    return this.#quiet.size === 0 && this.#others.every(({ length }) => length === 0)
  }

  /** Steps that are not quiet came in another order. */
  get isForGood(): boolean {
    return this.#isForGood
  }

  add(first: Step, second: Step): void {
    this.#note(first, 0)
    this.#note(second, 1)
    const [one, other] = this.#others
    while (one.length > 0 && other.length > 0) this.#isForGood ||= one.shift() !== other.shift()
  }

  #note(step: Step, which: 0 | 1): void {
    const text = told(step)
    if (!isQuiet(step)) {
      this.#others[which].push(text)
      return
    }
    const times = (this.#quiet.get(text) ?? 0) + (which === 0 ? 1 : -1)
    if (times === 0) this.#quiet.delete(text)
    else this.#quiet.set(text, times)
  }
}

function isSameMoment(one: Step, other: Step): boolean {
  return one.now === other.now && one.ready.join('\n') === other.ready.join('\n')
}

function told({ now, label, event, call }: Step): string {
  return JSON.stringify([now, label, event, call?.answer])
}

/** Whether no code but that of the engine goes on when the step is answered. */
function isQuiet({ event, isHeard, call }: Step): boolean {
  if (event !== undefined || isHeard) return false
  switch (call?.name) {
    case 'runs.claim':
      return call.answer?.runs.length === 0 && call.answer.ended.length === 0
    case 'tokens.await':
      return call.answer?.outcome === 'registered'
    case 'tokens.release':
      return true
    default:
      return false
  }
}
