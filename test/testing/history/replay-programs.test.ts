import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readHistory } from '../../../src/testing/history/reading.ts'
import { Redaction } from '../../../src/testing/history/redaction.ts'
import { historyEnd } from '../../../src/testing/history/recorded-run.ts'
import { replayHistory } from '../../../src/testing/replay-history.ts'
import { childTask, programTask } from '../../support/performance.ts'
import { CASES, casesOf, PATIENCE } from '../../support/program-laws.ts'
import { lives, ProgramWorld } from '../../support/program-world.ts'
import { programs } from '../../support/programs.ts'

it.each([
  { what: 'without races', kinds: { races: false } },
  { what: 'with races', kinds: {} },
])('a random program $what, recorded and replayed, asks and ends as it did', PATIENCE, async ({ kinds }) => {
  await fc.assert(
    fc.asyncProperty(casesOf(programs(kinds), lives()), async ({ tree, lives: all, isCalm }) => {
      const world = new ProgramWorld(tree, { isCalm })
      const { status } = await world.live(all)
      fc.pre(status === 'COMPLETED')
      const { records } = await world.storage.runs.list({ taskIds: ['root'] }, { limit: 1 })
      const read = { now: Date.UTC(2031, 0, 1), redaction: new Redaction(undefined) }
      const history = await readHistory(world.storage, records[0]?.id ?? '', read)
      const { seen } = world
      const child = childTask(seen)
      const code = programTask(tree, { seen, child, version: 'replayed', accepts: [] })
      const { end, departure } = await replayHistory(history, [code, child])
      expect(departure?.message).toBeUndefined()
      expect(end).toEqual(historyEnd(history))
      expect(seen.wrong).toEqual([])
    }),
    { numRuns: CASES },
  )
})
