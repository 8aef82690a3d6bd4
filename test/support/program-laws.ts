import fc from 'fast-check'
import { expect } from 'vitest'
import { isInMemory } from './abandon.ts'
import { cases } from './cases.ts'
import { type Program, partsOf } from './programs.ts'
import { type Ending, type Life, ProgramWorld, type WorldOptions } from './program-world.ts'

const ASKED_FOR = process.env['WAITPOINT_CASES']

/** How many cases each property tries. More are asked for by `WAITPOINT_CASES`, in memory only. */
export const CASES: number = ASKED_FOR !== undefined && isInMemory() ? Number(ASKED_FOR) : cases(100)

/** So many cases may take so long on a machine a hundred times slower. */
export const PATIENCE: { readonly timeout: number } = { timeout: 600_000 + CASES * 2_000 }

/** A program, what happens to it, and how the clock goes meanwhile. */
export interface Case {
  readonly tree: Program
  readonly lives: readonly Life[]
  readonly isCalm: boolean
}

export function casesOf(
  tree: fc.Arbitrary<Program>,
  lives: fc.Arbitrary<readonly Life[]>,
): fc.Arbitrary<Case> {
  return fc.record({ tree, lives, isCalm: fc.boolean() })
}

/**
 * The law: an answer reaches the question it was given for, nothing is asked twice and no child runs twice; or the run stands
 * still and says why.
 */
export async function expectLawful(world: ProgramWorld, { status, reason }: Ending): Promise<void> {
  expect(world.seen.wrong).toEqual([])
  if (!world.mayAskAnew) expect(await world.count()).toBeLessThanOrEqual(world.seen.begun)
  expect(['COMPLETED', 'PENDING_VERSION']).toContain(status)
  if (status === 'PENDING_VERSION') expect(reason).toMatch(/^Cannot go on with run ".*": .*continueWith/)
}

/** No answer was dropped after it was acknowledged: each question of the last attempt got its own. */
export function expectAnswered({ seen }: ProgramWorld, tree: Program, { status, attempt }: Ending): void {
  const isAnswered = status === 'COMPLETED' && awaitsAll(tree, attempt)
  if (isAnswered) expect(seen.unanswered(attempt)).toEqual([])
}

/** Checks the law, and `also` what else is expected. Answers how many of the runs stood still. */
export async function check(
  all: fc.Arbitrary<Case>,
  { numRuns = CASES, ...options }: WorldOptions & { readonly numRuns?: number } = {},
  also?: (world: ProgramWorld, one: Case, ending: Ending) => Promise<void> | void,
): Promise<number> {
  let stoodStill = 0
  await fc.assert(
    fc.asyncProperty(all, async (one) => {
      const world = new ProgramWorld(one.tree, { ...options, isCalm: one.isCalm })
      const ending = await world.live(one.lives)
      await expectLawful(world, ending)
      if (ending.status === 'PENDING_VERSION') stoodStill += 1
      await also?.(world, one, ending)
    }),
    { numRuns },
  )
  return stoodStill
}

/**
 * The most of so many random programs that may stand still. Some one in a hundred asks equal questions at one place (see
 * docs/changing-code.md); the bound is where chance does not come, and a mechanism that is broken does.
 */
export function mostStandingStill(programs: number): number {
  return 5 + programs / 20
}

/** Whether an attempt waits for every answer before it can end. */
function awaitsAll(tree: Program, attempt: number): boolean {
  const kinds = partsOf(tree).map(({ kind }) => kind)
  const isRace = kinds.includes('race') || kinds.includes('any')
  return !isRace && (attempt > 1 || !kinds.includes('fail'))
}
