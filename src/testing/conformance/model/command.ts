import type { RandomSource } from '../../../contract/random.ts'

/** Commands on runs and tokens, with their frequencies. */
const CHANGES = {
  insertRun: 14,
  insertToken: 6,
  claim: 14,
  tick: 6,
  await: 12,
  park: 7,
  resume: 6,
  settle: 5,
  change: 2,
  get: 2,
  finish: 3,
  cancel: 1,
  retry: 2,
  setAside: 2,
  goOn: 2,
  giveSlotBack: 2,
  release: 2,
  setQueue: 1,
  leave: 1,
} as const

/** Further commands, in every other program, so that the other programs have more of the first kind. */
const COMPANY = {
  listRuns: 3,
  listTokens: 3,
  openStream: 3,
  append: 9,
  read: 3,
  prune: 2,
} as const

export type CommandName = keyof typeof CHANGES | keyof typeof COMPANY

/**
 * One step of a program. Its numbers are interpreted at execution, modulo the number of candidates, so that a program
 * stays valid when commands are dropped from it.
 */
export interface Command {
  readonly name: CommandName
  /** Makes ids and instants unique. */
  readonly serial: number
  readonly run: number
  readonly token: number
  readonly owner: number
  readonly option: number
  /** Sent by an attempt that has lost its run. */
  readonly isStale: boolean
  /** Milliseconds that pass before the step. */
  readonly pauseMs: number
}

const ALONE = drawn(CHANGES)
const TOGETHER = [...ALONE, ...drawn(COMPANY)]
const PAUSES = [0, 0, 0, 0, 1, 1, 5, 60] as const

/** A program. It depends only on the random source. */
export function drawProgram(random: RandomSource, length: number): readonly Command[] {
  const draw = (below: number): number => Math.floor(random.fraction() * below)
  const names = draw(2) === 0 ? ALONE : TOGETHER
  return Array.from({ length }, (_, serial) => ({
    name: names[draw(names.length)] ?? 'tick',
    serial: serial + 1,
    run: draw(1_000),
    token: draw(1_000),
    owner: draw(3),
    option: draw(1_000),
    isStale: draw(10) === 0,
    pauseMs: PAUSES[draw(PAUSES.length)] ?? 0,
  }))
}

/** Each name, repeated by its weight. */
function drawn(weights: Readonly<Partial<Record<CommandName, number>>>): readonly CommandName[] {
  return Object.entries(weights).flatMap(([name, weight]) =>
    // The keys of the weights are command names.
    Array.from({ length: weight }, () => name as CommandName),
  )
}
