import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readHistory } from '../../../src/testing/history/reading.ts'
import { Redaction } from '../../../src/testing/history/redaction.ts'
import { historyEnd } from '../../../src/testing/history/recorded-run.ts'
import type { AnyTask } from '../../../src/api/run.ts'
import { ExplorationError } from '../../../src/testing/exploration/error.ts'
import { exploreHistory } from '../../../src/testing/explore-history.ts'
import type { RunHistory } from '../../../src/testing/history/shape.ts'
import { replayHistory } from '../../../src/testing/replay-history.ts'
import { childTask, programTask } from '../../support/performance.ts'
import { type Case, CASES, casesOf, mostStandingStill, PATIENCE } from '../../support/program-laws.ts'
import { type Life, lives, ProgramWorld } from '../../support/program-world.ts'
import { type Program, programs } from '../../support/programs.ts'
import type { Witness } from '../../support/witness.ts'

it.each([
  { what: 'without races', kinds: { races: false } },
  { what: 'with races', kinds: {} },
])('a random program $what, recorded and replayed, asks and ends as it did', PATIENCE, async ({ kinds }) => {
  await fc.assert(fc.asyncProperty(casesOf(programs(kinds), lives()), expectReplayed), { numRuns: CASES })
})

it('the neighbours of a random program are silent, but where the run stands still', PATIENCE, async () => {
  const numRuns = Math.ceil(CASES / 20)
  let stoodStill = 0
  const all = fc.asyncProperty(casesOf(programs(), lives()), async (one) => {
    if (!(await isSilent(one))) stoodStill += 1
  })
  await fc.assert(all, { numRuns })
  expect(stoodStill).toBeLessThanOrEqual(mostStandingStill(numRuns))
})

it('an effect that throws after an interruption may do so before an older answer of a child comes', async () => {
  const source: Program = { kind: 'child', id: 5, payload: 'return', isNamed: false }
  const body: Program = { kind: 'ask', id: 6, tag: 'a', timeout: '999d', isNamed: false, isTagged: false }
  const tree: Program = {
    kind: 'all',
    id: 1,
    parts: [
      { kind: 'once', id: 2, inner: { kind: 'fail', id: 3 } },
      { kind: 'generator', id: 4, times: 1, source, body },
    ],
  }
  const crash = { call: 10, moment: 'after' } as const
  await expectReplayed({ tree, lives: [{ pause: 'rest', steps: [], crash, edit: undefined }], isCalm: false })
})

it('an effect may throw before the answer of a child that storage had before the attempt was over', async () => {
  const body: Program = { kind: 'child', id: 3, payload: 'return', isNamed: false }
  const tree: Program = {
    kind: 'all',
    id: 1,
    parts: [
      { kind: 'loop', id: 2, times: 2, body },
      { kind: 'once', id: 4, inner: { kind: 'fail', id: 5 } },
    ],
  }
  const crash = { call: 9, moment: 'before' } as const
  const second: Life = { pause: 'rest', steps: [], crash: undefined, edit: undefined }
  await expectReplayed({ tree, lives: [{ ...second, crash }, second], isCalm: true })
})

it('an effect may be joined that an attempt has begun which failed, as no attempt did in the history', async () => {
  const asks = { tag: 'a', timeout: '999d', isNamed: false, isTagged: false } as const
  const tree: Program = {
    kind: 'all',
    id: 1,
    parts: [
      {
        kind: 'generator',
        id: 2,
        times: 1,
        source: { kind: 'ask', id: 3, ...asks },
        body: { kind: 'loop', id: 4, times: 1, body: { kind: 'once', id: 5, inner: undefined } },
      },
      { kind: 'ask', id: 6, ...asks },
      { kind: 'once', id: 7, inner: { kind: 'fail', id: 8 } },
    ],
  }
  const crash = { call: 9, moment: 'after' } as const
  await expectReplayed({ tree, lives: [{ pause: 'rest', steps: [], crash, edit: undefined }], isCalm: false })
})

it('a race may be won by a child whose end storage had after the result of an effect', async () => {
  const asks = { tag: 'a', timeout: '999d', isNamed: false, isTagged: false } as const
  const tree: Program = {
    kind: 'any',
    id: 1,
    parts: [
      {
        kind: 'generator',
        id: 2,
        times: 1,
        source: { kind: 'once', id: 3, inner: undefined },
        body: { kind: 'ask', id: 4, ...asks },
      },
      { kind: 'child', id: 5, payload: 'return', isNamed: false },
      { kind: 'ask', id: 6, ...asks },
    ],
  }
  const life: Life = { pause: 'rest', steps: [], crash: undefined, edit: undefined }
  await expectReplayed({ tree, lives: [life], isCalm: true })
})

const ASKED = { tag: 'a', timeout: '999d', isNamed: false, isTagged: false } as const
const REST: Life = { pause: 'rest', steps: [], crash: undefined, edit: undefined }

it('a child may win a race against code that throws once createToken has returned', async () => {
  const fail: Program = { kind: 'fail', id: 7 }
  const body: Program = { kind: 'late', id: 5, ask: { kind: 'ask', id: 6, ...ASKED }, body: fail }
  const tree: Program = {
    kind: 'race',
    id: 1,
    parts: [
      { kind: 'child', id: 2, payload: 'return', isNamed: false },
      { kind: 'late', id: 3, ask: { kind: 'ask', id: 4, ...ASKED }, body },
    ],
  }
  await expectReplayed({ tree, lives: [REST], isCalm: false })
})

it('a child that is triggered later may win that race too', async () => {
  const body: Program = { kind: 'fail', id: 5 }
  const source: Program = { kind: 'late', id: 3, ask: { kind: 'ask', id: 4, ...ASKED }, body }
  const tree: Program = {
    kind: 'race',
    id: 1,
    parts: [
      { kind: 'generator', id: 2, times: 1, source, body: { kind: 'ask', id: 6, ...ASKED } },
      { kind: 'child', id: 7, payload: 'return', isNamed: false },
      { kind: 'ask', id: 8, ...ASKED },
    ],
  }
  await expectReplayed({ tree, lives: [REST], isCalm: false })
})

it('a child that ends before its trigger returns may win a race against code that throws at once', async () => {
  const tree: Program = {
    kind: 'race',
    id: 1,
    parts: [
      { kind: 'child', id: 2, payload: 'return', isNamed: false },
      { kind: 'all', id: 3, parts: [{ kind: 'fail', id: 4 }] },
      { kind: 'ask', id: 5, ...ASKED },
    ],
  }
  await expectReplayed({ tree, lives: [REST], isCalm: false })
})

it('it may win against code that also asks', async () => {
  const tree: Program = {
    kind: 'race',
    id: 1,
    parts: [
      { kind: 'child', id: 2, payload: 'return', isNamed: false },
      {
        kind: 'all',
        id: 3,
        parts: [
          { kind: 'fail', id: 4 },
          { kind: 'ask', id: 5, ...ASKED },
        ],
      },
    ],
  }
  await expectReplayed({ tree, lives: [REST], isCalm: true })
})

interface Recorded {
  readonly history: RunHistory
  readonly tasks: readonly AnyTask[]
  /** What the code finds to be wrong. */
  readonly seen: Witness
}

async function recorded({ tree, lives: all, isCalm }: Case): Promise<Recorded> {
  const world = new ProgramWorld(tree, { isCalm })
  const { status } = await world.live(all)
  fc.pre(status === 'COMPLETED')
  const { records } = await world.storage.runs.list({ taskIds: ['root'] }, { limit: 1 })
  const read = { now: Date.UTC(2031, 0, 1), redaction: new Redaction(undefined) }
  const history = await readHistory(world.storage, records[0]?.id ?? '', read)
  const { seen } = world
  const child = childTask(seen)
  return {
    history,
    tasks: [programTask(tree, { seen, child, version: 'replayed', accepts: [] }), child],
    seen,
  }
}

async function expectReplayed(one: Case): Promise<void> {
  const { history, tasks, seen } = await recorded(one)
  const { end, departure } = await replayHistory(history, tasks)
  expect(departure?.message).toBeUndefined()
  expect(end).toEqual(historyEnd(history))
  expect(seen.wrong).toEqual([])
}

/** Of each program some schedules are executed. False: in one of them equal questions at one place cannot be told apart. */
async function isSilent(one: Case): Promise<boolean> {
  const { history, tasks } = await recorded(one)
  try {
    await exploreHistory(history, tasks, {
      budget: { runs: 20, ms: Infinity },
      check: ({ end, isAnsweredAlike }) => {
        if (isAnsweredAlike) expect(end).toEqual(historyEnd(history))
      },
    })
    return true
  } catch (error) {
    if (error instanceof ExplorationError && error.message.includes('PENDING_VERSION')) return false
    throw error
  }
}
