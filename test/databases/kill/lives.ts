import { seededRandom } from '../../../src/clock/seeded-random.ts'
import { pauseReal } from '../../../src/storage/real-timer.ts'
import { endLeases } from '../postgres/leases.ts'
import { ended, killNow, type ProgramOptions, startProgram } from './killed-process.ts'
import { observations, type Observed } from './observer.ts'
import { expectNothingLost, pick, readAtEnd } from './verdict.ts'

/** Before the database is open. */
const SHORTEST_LIFE_MS = 60
const LOOK_MS = 50

/** What is worked on. */
export interface Work extends ProgramOptions {
  /** The built worker. */
  readonly program: string
  /** Where the records are: a schema of a Postgres database. */
  readonly place: string
  /** Where the observations go. */
  readonly file: string
}

export interface Lives extends Work {
  readonly seed: number
  /** Well into the load. */
  readonly longestLifeMs: number
  /** How many live at the same time, and how often all of them are killed. */
  readonly together: number
  readonly kills: number
}

/**
 * Lets processes work until they are killed, again and again, the last ones not before some work is done. The next
 * process notices at once that the killed ones are gone.
 */
export async function liveAndDie(lives: Lives): Promise<void> {
  const { program, place, file, seed, longestLifeMs, together, kills, ...options } = lives
  const random = seededRandom(seed)
  const live = async (lifeMs: number, isLast: boolean): Promise<void> => {
    const child = startProgram([program, place, file, 'load'], options)
    await pauseReal(lifeMs)
    // On a machine that is busy with other things it takes longer to get to work.
    while (isLast && child.exitCode === null && acknowledged(file) <= kills) await pauseReal(LOOK_MS)
    await killNow(child, file)
  }
  for (let kill = 1; kill <= kills; kill += 1) {
    const spans = Array.from(
      { length: together },
      () => SHORTEST_LIFE_MS + random.fraction() * (longestLifeMs - SHORTEST_LIFE_MS),
    )
    await Promise.all(spans.map((lifeMs) => live(lifeMs, kill === kills)))
    await endLeases(place)
  }
}

/** Brings everything to its end in a last life, when all others are dead; nothing that was acknowledged in any may be lost. */
export async function settleAccounts({ program, place, file, ...options }: Work): Promise<void> {
  await endLeases(place)
  const printed = await ended(startProgram([program, place, file, 'finish'], options))
  expectNothingLost(readAtEnd(printed), observations(file))
}

/** Resolves once it is so, going by what was observed so far. */
export async function untilSeen(file: string, isSo: (seen: readonly Observed[]) => boolean): Promise<void> {
  while (!isSo(observations(file))) await pauseReal(LOOK_MS)
}

/** How many triggers and completions were acknowledged. */
export function acknowledged(file: string): number {
  const seen = observations(file)
  return pick(seen, 'triggered').length + pick(seen, 'completed').length
}
