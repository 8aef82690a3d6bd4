import { createHash } from 'node:crypto'
import type { TickResult } from '../../contract/storage.ts'
import type { Executed, Step } from './schedule-record.ts'

/**
 * The states that schedules have been in. Two schedules are in one state where all that code under test could tell by then was
 * the same, in the same order, what engines did for themselves has left the same in the storage, and all that follows in order is
 * the same, too. What can follow in one of them follows in the other.
 */
export class KnownStates {
  /** The fewest departures with which a schedule was in a state. */
  readonly #depths = new Map<string, number>()

  /**
   * Adds the states of a schedule after its last departure. Returns the number of steps after which it is in one that another
   * schedule was in with no more departures; `Infinity` if it never is.
   */
  add({ steps, decisions }: Executed, depth: number): number {
    if (steps.some(({ isHeard }) => isHeard)) return Infinity
    const states = statesOf(steps)
    const last = decisions.findLast(({ index }) => index > 0)
    for (let place = last === undefined ? 0 : last.step + 1; place < states.length; place += 1) {
      const state = states[place] ?? ''
      const known = this.#depths.get(state)
      if (known !== undefined && known <= depth) return place
      this.#depths.set(state, depth)
    }
    return Infinity
  }
}

/** The state before each step, and the one at the end. */
function statesOf(steps: readonly Step[]): readonly string[] {
  const futures = ['']
  for (const step of steps.toReversed()) {
    const ready = step.ready.map(withoutNumber)
    futures.push(hash(textOf(step), ready.join('\n'), futures.at(-1) ?? '').toString(36))
  }
  let told = 0n
  let stored = 0n
  const leases = new Map<string, unknown>()
  return futures.reverse().map((future, place) => {
    const state = [told.toString(36), stored.toString(36), JSON.stringify([...leases]), future].join(' ')
    const step = steps[place]
    if (step === undefined) return state
    if (!isQuiet(step)) told = hash(textOf(step), told.toString(36))
    // In any order.
    else if (leavesTraces(step)) stored += hash(textOf(step))
    if (step.call?.name === 'tick') leases.set(step.call.args[0].owner, step.call.answer?.leaseUntil)
    return state
  })
}

function textOf({ now, label, event, call }: Step): string {
  return JSON.stringify([now, withoutNumber(label), event, call?.answer])
}

/** What engines do for themselves is numbered in its order; how often it happened before makes no difference. */
function withoutNumber(label: string): string {
  return label.replace(NUMBERED, '')
}

const NUMBERED =
  /(?<=^time\/(?:parking|a look at what is due|leases, for .*|deadline of .*)|\/(?:runs\.claim|tick))#\d+$/s
/** Timers of an engine that make it look into its storage. */
const LOOK = /^time\/(?:a look at what is due|leases, for .*|deadline of .*)#\d+$/s

/** Whether no code but that of the engine goes on with the step. */
function isQuiet({ event, call, label, isEngines }: Step): boolean {
  if (event !== undefined) return false
  switch (call?.name) {
    case undefined:
      return isEngines === true && LOOK.test(label)
    case 'runs.claim':
      return call.answer?.runs.length === 0 && call.answer.ended.length === 0
    case 'tick':
      return findsNothing(call.answer)
    case 'tokens.insert':
      return call.answer !== 'stale' && call.answer?.record.kind === 'SLEEP'
    case 'tokens.await':
      return call.answer?.outcome === 'registered'
    case 'tokens.release':
      return true
    default:
      return false
  }
}

function findsNothing(tick: TickResult | undefined): boolean {
  if (tick?.alive !== true || tick.claimable) return false
  return tick.ready.length + tick.settled.length + tick.expired.length === 0
}

/** Whether the storage is another one after a quiet step, apart from the lease of its engine. */
function leavesTraces({ call }: Step): boolean {
  return call !== undefined && call.name !== 'runs.claim' && call.name !== 'tick'
}

function hash(...texts: readonly string[]): bigint {
  return createHash('sha256').update(texts.join('\0')).digest().readBigUInt64LE()
}
