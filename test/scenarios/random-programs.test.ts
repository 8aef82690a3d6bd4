import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isInMemory } from '../support/abandon.ts'
import {
  CASES,
  casesOf,
  check,
  expectAnswered,
  expectLawful,
  mostStandingStill,
  PATIENCE,
} from '../support/program-laws.ts'
import { type Life, lives, ProgramWorld, type Step } from '../support/program-world.ts'
import { type Ask, contests, numbered, type Program, programs } from '../support/programs.ts'

describe('a random program', PATIENCE, () => {
  it('without races gets every answer to the question it was given for, and ends', async () => {
    const stoodStill = await check(casesOf(programs({ races: false }), lives()), {}, (world, one, ending) =>
      expectAnswered(world, one.tree, ending),
    )
    expect(stoodStill).toBeLessThanOrEqual(mostStandingStill(CASES))
  })

  it('without races and without equal questions gets every answer, and ends', async () => {
    const all = casesOf(programs({ races: false, unequal: true }), lives())
    const stoodStill = await check(all, {}, (world, one, ending) => expectAnswered(world, one.tree, ending))
    expect(stoodStill).toBe(0)
  })

  it('with races gets every answer to the question it was given for, or stands still', async () => {
    const stoodStill = await check(casesOf(programs(), lives()))
    expect(stoodStill).toBeLessThanOrEqual(mostStandingStill(CASES))
  })

  it('of many parts gets every answer to the question it was given for, or stands still', async () => {
    const stoodStill = await check(casesOf(programs({ large: true }), lives()), {}, (world, one, ending) =>
      expectAnswered(world, one.tree, ending),
    )
    expect(stoodStill).toBeLessThanOrEqual(mostStandingStill(CASES))
  })

  it('that races on a storage that answers later has the winners that it had, or stands still', async () => {
    // Each has some dozens of turns.
    const numRuns = Math.ceil(CASES / 10)
    const stoodStill = await check(casesOf(contests(), lives()), { isLate: true, numRuns })
    expect(stoodStill).toBeLessThanOrEqual(mostStandingStill(numRuns))
  })

  it('whose waits have names ends, whatever happens', async () => {
    const all = casesOf(programs({ named: true }), lives())
    expect(await check(all, {}, (world, one, ending) => expectAnswered(world, one.tree, ending))).toBe(0)
  })

  it('survives a crash at each of its storage calls', async () => {
    // Each program is executed some hundred times.
    const numRuns = Math.ceil(CASES / 50)
    await fc.assert(
      fc.asyncProperty(casesOf(programs(), lives()), async ({ tree, lives: [first], isCalm }) => {
        const life: Life = { pause: 'rest', steps: first?.steps ?? [], crash: undefined, edit: undefined }
        const { calls } = await new ProgramWorld(tree, { isCalm }).live([life])
        const [count = 0] = calls
        // A database takes seconds for each: a few calls of each program are enough there.
        const step = isInMemory() ? 1 : Math.max(1, Math.ceil(count / 5))
        for (let call = 1; call <= count; call += step)
          for (const moment of ['before', 'after'] as const) {
            const world = new ProgramWorld(tree, { isCalm })
            const ending = await world.live([{ ...life, crash: { call, moment } }])
            await expectLawful(world, ending)
            expectAnswered(world, tree, ending)
          }
      }),
      { numRuns },
    )
  })
})

describe('a race between two answers of one instant', () => {
  const answers = [0, 1, 2].map((which): Step => ({
    kind: 'answer',
    which,
    count: 3,
    areApart: false,
    by: 'engine',
    pause: 'rest',
  }))
  // A database takes seconds for each.
  const calls = isInMemory() ? Array.from({ length: 40 }, (_, at) => at + 1) : [20]
  const crashes = calls.flatMap((call) => [
    { call, moment: 'before' as const },
    { call, moment: 'after' as const },
  ])

  it.each([true, false])('has the winner that it had, with names: %s', PATIENCE, async (isNamed) => {
    const ask: Program = { kind: 'ask', id: 0, tag: 'a', timeout: '999d', isNamed }
    const race: Program = { kind: 'race', id: 0, parts: [ask, ask, ask] }
    const once: Program = { kind: 'once', id: 0, inner: undefined }
    const tree = numbered({ kind: 'sequence', id: 0, parts: [race, once, ask] })
    for (const crash of crashes)
      for (const answer of answers) {
        const world = new ProgramWorld(tree)
        await world.live([{ pause: 'rest', steps: [answer], crash, edit: undefined }])
        expect(world.seen.wrong).toEqual([])
      }
  })
})

describe('a race between a child that ends at once and an answer', () => {
  it('has the winner that it had', async () => {
    const ask: Program = { kind: 'ask', id: 0, tag: 'a', timeout: '999d', isNamed: false }
    const child: Program = { kind: 'child', id: 0, payload: 'return', isNamed: false }
    const race: Program = { kind: 'race', id: 0, parts: [child, ask] }
    const world = new ProgramWorld(numbered({ kind: 'sequence', id: 0, parts: [race, ask, ask, ask] }))
    const answer = (count: number): Step => ({
      kind: 'answer',
      which: 0,
      count,
      areApart: false,
      by: 'engine',
      pause: 'rest',
    })
    const life: Life = { pause: 'rest', steps: [], crash: undefined, edit: undefined }
    await world.live([{ ...life, steps: [answer(2), answer(1)] }, life])
    expect(world.seen.wrong).toEqual([])
  })
})

describe('a race between the effect of a child and an answer that comes right after it', () => {
  it('has the winner that it had', async () => {
    const ask: Program = { kind: 'ask', id: 0, tag: 'a', timeout: '999d', isNamed: false }
    const child: Program = { kind: 'child', id: 0, payload: 'return', isNamed: false }
    const once: Program = { kind: 'once', id: 0, inner: child }
    const inner: Program = { kind: 'race', id: 0, parts: [once, ask] }
    const race: Program = { kind: 'race', id: 0, parts: [ask, inner] }
    const life: Life = { pause: 'rest', steps: [], crash: undefined, edit: undefined }
    for (const pause of [0, 1, 2, 3] as const)
      for (const which of [0, 1]) {
        const world = new ProgramWorld(numbered({ kind: 'sequence', id: 0, parts: [race, ask] }))
        const answer: Step = {
          kind: 'answer',
          which,
          count: 1,
          areApart: false,
          by: 'engine',
          pause: 'rest',
        }
        await world.live([{ ...life, pause, steps: [answer] }, life])
        expect({ pause, which, wrong: world.seen.wrong }).toEqual({ pause, which, wrong: [] })
      }
  })
})

describe('a race between an answer and a storage that makes a token meanwhile', () => {
  const ask: Ask = { kind: 'ask', id: 0, tag: 'a', timeout: '999d', isNamed: false }
  const made: Program = { kind: 'made', id: 0, ask }
  const life: Life = { pause: 'rest', steps: [], crash: undefined, edit: undefined }

  it.each([
    { what: 'by their places', isKeyed: false },
    { what: 'by keys of their own', isKeyed: true },
  ])('has the winner that it had, with waits known $what', async ({ isKeyed }) => {
    const once: Program = { kind: 'once', id: 0, inner: undefined }
    const race: Program = { kind: 'race', id: 0, parts: [once, made, made] }
    const asked: Program = { ...ask, isKeyed }
    for (let seed = 0; seed < 10; seed += 1) {
      const world = new ProgramWorld(numbered({ kind: 'sequence', id: 0, parts: [race, asked, asked] }), {
        isLate: true,
        seed,
      })
      await world.live([life, life])
      expect(world.seen.wrong).toEqual([])
    }
  })
})

describe('a flow that sleeps and asks, beside its parent that asks the same after a race', () => {
  it('does not get the answer of its parent', async () => {
    const ask: Program = { kind: 'ask', id: 0, tag: 'a', timeout: '999d', isNamed: false }
    const sleep: Program = { kind: 'sleep', id: 0, isNamed: false }
    const flow: Program = { kind: 'sequence', id: 0, parts: [sleep, ask] }
    const race: Program = { kind: 'race', id: 0, parts: [ask, flow] }
    const world = new ProgramWorld(numbered({ kind: 'sequence', id: 0, parts: [race, ask] }))
    const answer: Step = { kind: 'answer', which: 0, count: 1, areApart: true, by: 'other', pause: 'rest' }
    const life: Life = { pause: 'rest', steps: [], crash: undefined, edit: undefined }
    await world.live([
      { ...life, steps: [answer] },
      { ...life, steps: [{ kind: 'later' }, answer] },
    ])
    expect(world.seen.wrong).toEqual([])
  })
})

describe('a helper that waits twice and is called twice', () => {
  const ask = (isTagged: boolean): Ask => ({
    kind: 'ask',
    id: 0,
    tag: 'a',
    timeout: '999d',
    isNamed: false,
    isTagged,
  })
  const life: Life = { pause: 'rest', steps: [], crash: undefined, edit: undefined }
  const answer: Step = { kind: 'answer', which: 0, count: 1, areApart: true, by: 'engine', pause: 'rest' }

  it.each([
    { questions: 'equal', isTagged: false, status: 'PENDING_VERSION' },
    { questions: 'unequal', isTagged: true, status: 'COMPLETED' },
  ])('has $questions questions, and is then $status', async ({ isTagged, status }) => {
    const helper: Program = { kind: 'sequence', id: 0, parts: [ask(isTagged), ask(isTagged)] }
    const world = new ProgramWorld(numbered({ kind: 'loop', id: 0, times: 2, body: helper }))
    const ending = await world.live([{ ...life, steps: [answer, answer] }, life])
    expect(world.seen.wrong).toEqual([])
    expect(ending.status).toBe(status)
  })
})
