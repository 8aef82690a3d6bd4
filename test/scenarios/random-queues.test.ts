import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CASES, PATIENCE } from '../support/program-laws.ts'
import { queueCases } from '../support/queue-programs.ts'
import { QueueWorld } from '../support/queue-world.ts'

it('runs of several queues and engines have slots as the documents say', PATIENCE, async () => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(queueCases, async (one) => {
      runs += await new QueueWorld(one).live()
    }),
    { numRuns: CASES },
  )
  expect(runs).toBeGreaterThan(CASES)
})
