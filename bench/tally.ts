import { fork } from 'node:child_process'
import { createHook } from 'node:async_hooks'
import { type Clock, systemClock } from 'waitpoint'
import { RecordedApprovals } from './bare/recorded-approvals.ts'
import type { Approvals } from './bare/approvals.ts'
import { EngineApprovals } from './engine-approvals.ts'
import { inCrowds, oneAfterAnother } from './approval-loops.ts'

/** The cost of one run, in counts that are equal on every machine. */
export interface Tally {
  readonly promises: number
  readonly allocatedBytes: number
  /** Timers armed for a thousand runs that wait at once, and canceled again. */
  readonly timers: number
}

export type TallySide = 'ours' | 'bare'
export type MeasureTally = (side: TallySide, count: number) => Promise<Tally>

const sides: Readonly<Record<TallySide, (clock?: Clock) => Approvals>> = {
  ours: (clock) => new EngineApprovals(undefined, undefined, clock),
  bare: () => new RecordedApprovals(),
}
/** The number of runs before counting, so that the compiler is finished with their code. */
const WARM_UPS = 40
/** The number of rounds that check for other activity. */
const ROUNDS = 10
/** New objects stay in here until it is full, so the growth of the heap is the amount allocated. */
const NEW_SPACE_MB = 256

/** Counts over `count` runs in this process. */
export async function takeTally(side: TallySide, count: number): Promise<Tally> {
  const approvals = sides[side]()
  for (let round = 0; round < WARM_UPS; round++) await oneAfterAnother(approvals, count)
  const allocatedBytes = await leastOf(async () => {
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    await oneAfterAnother(approvals, count)
    return (process.memoryUsage().heapUsed - before) / count
  })
  // The course itself has one or two.
  const promises = Math.floor((await resources('PROMISE', () => oneAfterAnother(approvals, count))) / count)
  await approvals.close()
  const patient = sides[side](withoutTurns())
  const timers = await leastOf(() => resources('Timeout', () => inCrowds(patient, { count, isParked: true })))
  await patient.close()
  return { allocatedBytes, promises, timers }
}

/** The system clock without turns of the event loop. Each turn arms a timer, and a slow machine has more of them. */
function withoutTurns(): Clock {
  const clock = systemClock()
  return {
    now: () => clock.now(),
    setTimer: (at, fire, about) => clock.setTimer(at, fire, about),
    hold: (hold) => clock.hold?.(hold) ?? (() => undefined),
  }
}

/**
 * The minimum over several rounds. On a slow machine a round may contain more: a late compilation, or the upkeep of an
 * engine after a long round.
 */
async function leastOf(round: () => Promise<number>): Promise<number> {
  let least = Infinity
  for (let left = ROUNDS; left > 0; left--) least = Math.min(least, await round())
  return least
}

/** The number of asynchronous resources of a type created while `body` runs. */
async function resources(type: string, body: () => Promise<void>): Promise<number> {
  let made = 0
  const hook = createHook({
    init: (_, resource) => {
      if (resource === type) made += 1
    },
  })
  hook.enable()
  await body()
  hook.disable()
  return made
}

/** Takes a tally in a process of its own, started by `main FLAG side count`. */
export function takeTallyApart(side: TallySide, count: number): Promise<Tally> {
  const [, main = ''] = process.argv
  const newSpace = [`--min-semi-space-size=${NEW_SPACE_MB}`, `--max-semi-space-size=${NEW_SPACE_MB}`]
  return new Promise((resolve, reject) => {
    const child = fork(main, [TALLY_FLAG, side, String(count)], { execArgv: ['--expose-gc', ...newSpace] })
    let tally: Tally | undefined
    // `answerTally` sends it from the other end.
    child.on('message', (message) => (tally = message as Tally))
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      if (tally !== undefined) resolve(tally)
      else reject(new Error(`Cannot count (${side}): the process ended with ${code ?? signal}`))
    })
  })
}

/** The argument that makes `main` a tally process. */
export const TALLY_FLAG = '--tally'

export async function answerTally([side, count]: readonly string[]): Promise<void> {
  const tally = await takeTally(side === 'bare' ? 'bare' : 'ours', Number(count))
  process.send?.(tally, () => process.exit())
}
