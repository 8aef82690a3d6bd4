import type { RandomSource } from '../../../contract/random.ts'

/** What a command does to runs and tokens; how often each is drawn. */
const CHANGES = {
  insertRun: 14,
  insertToken: 6,
  claim: 14,
  tick: 6,
  await: 12,
  park: 7,
  resume: 6,
  settle: 5,
  get: 2,
  finish: 3,
  cancel: 1,
  retry: 2,
  giveSlotBack: 2,
  release: 2,
  leave: 1,
} as const

/** What is done besides, in every other program: the others are the denser for it. */
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
 * One step of a program. Numbers are draws that are read when it is executed, modulo what there is then, so that a
 * program still means something when commands are dropped from it.
 */
export interface Command {
  readonly name: CommandName
  /** Makes ids and instants of its own. */
  readonly serial: number
  readonly run: number
  readonly token: number
  readonly owner: number
  readonly option: number
  /** An attempt that has lost its run. */
  readonly isStale: boolean
  /** How much time passes before it. */
  readonly pauseMs: number
}

const ALONE = drawn(CHANGES)
const TOGETHER = [...ALONE, ...drawn(COMPANY)]
const PAUSES = [0, 0, 0, 0, 1, 1, 5, 60] as const

/** A program: the same for the same random source. */
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

/** Each name as often as it weighs. */
function drawn(weights: Readonly<Partial<Record<CommandName, number>>>): readonly CommandName[] {
  return Object.entries(weights).flatMap(([name, weight]) =>
    // The keys of the weights are names of commands.
    Array.from({ length: weight }, () => name as CommandName),
  )
}
