import { describe, expect, it } from 'vitest'
import { ExplorationError, type ExploreOptions } from 'waitpoint/testing'
import { rejection } from '../support/body-task.ts'
import { exploreAll } from './exploration/bodies.ts'
import { addedTwice } from './planted/applications/added-twice.ts'
import { doubleClick } from './planted/applications/double-click.ts'
import { forgottenAudit } from './planted/applications/forgotten-audit.ts'
import { halfATransfer } from './planted/applications/half-a-transfer.ts'
import { lostUpdate } from './planted/applications/lost-update.ts'
import { mailBeforeRow } from './planted/applications/mail-before-row.ts'
import { mailTwice } from './planted/applications/mail-twice.ts'
import { paidInMemory } from './planted/applications/paid-in-memory.ts'
import { pendingInMemory } from './planted/applications/pending-in-memory.ts'
import { twoNumbers } from './planted/applications/two-numbers.ts'
import { answeredBeforeStored } from './planted/engines/answered-before-stored.ts'
import { lockPerWorker } from './planted/engines/lock-per-worker.ts'
import { pausedWorker } from './planted/engines/paused-worker.ts'
import { refundBeforeCancel } from './planted/engines/refund-before-cancel.ts'
import { repeatedRequest } from './planted/engines/repeated-request.ts'
import { rowWithoutRun } from './planted/engines/row-without-run.ts'
import { sameRowTaken } from './planted/engines/same-row-taken.ts'
import { seenInMemory } from './planted/engines/seen-in-memory.ts'
import { successNotRead } from './planted/engines/success-not-read.ts'
import type { Twin } from './planted/twin.ts'
import { twoStatements } from './planted/engines/two-statements.ts'
import { twoWebProcesses } from './planted/engines/two-web-processes.ts'

const SEEDS = 5
/** Schedules in which each of them is found, at most: in order, and at random by half of the seeds. */
const MOST_IN_ORDER = 100
const MOST_AT_RANDOM = 50

type Bug = readonly [what: string, twin: Twin]

const acrossEngines: readonly Bug[] = [
  ['a charge by two web processes', twoWebProcesses],
  ['a lock in the memory of each worker', lockPerWorker],
  ['a payment by a worker that stood still', pausedWorker],
  ['a request that is sent again', repeatedRequest],
  ['an order without a run', rowWithoutRun],
  ['webhooks known in memory only', seenInMemory],
  ['two statements that are not one', twoStatements],
  ['a row that two workers take', sameRowTaken],
  ['a response before anything is stored', answeredBeforeStored],
  ['an answer that does not count', successNotRead],
  ['a refund before the cancel', refundBeforeCancel],
]

const inOneProcess: readonly Bug[] = [
  ['a delivery that counts twice', addedTwice],
  ['a basket bought by two clicks', doubleClick],
  ['a log entry that is refused', forgottenAudit],
  ['half a transfer', halfATransfer],
  ['a deposit that another one overwrites', lostUpdate],
  ['a link to a row that is not there', mailBeforeRow],
  ['a mail that is sent and then marked', mailTwice],
  ['payments known in memory only', paidInMemory],
  ['tokens known in memory only', pendingInMemory],
  ['a number that is drawn again', twoNumbers],
]

async function find(twin: Twin, chosen: ExploreOptions): Promise<ExplorationError> {
  const { body, options } = twin(false)
  const error = await rejection(exploreAll(body, { ...options, ...chosen }))
  if (error instanceof ExplorationError) return error
  throw error
}

describe.each([
  ['several engines', acrossEngines],
  ['an application and its database', inOneProcess],
])('explore, with %s', (_world, bugs) => {
  it.each(bugs)('finds %s in order, shrinks and replays it', async (_what, twin) => {
    const { breaks } = twin(false)
    const error = await find(twin, {})
    expect(error.invariant, error.message).toBe(breaks)
    expect(error.trace.length, error.message).toBeLessThanOrEqual(2)
    expect(error.run).toBeLessThanOrEqual(MOST_IN_ORDER)
    const again = await find(twin, { replay: error.replay })
    expect(again).toMatchObject({ invariant: breaks, replay: error.replay })
    expect(String(again.cause)).toBe(String(error.cause))
  })

  it.each(bugs)('finds %s at random, with every seed', async (_what, twin) => {
    const runs: number[] = []
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { invariant, run } = await find(twin, { decider: 'random', seed })
      expect(invariant).toBe(twin(false).breaks)
      runs.push(run)
    }
    expect(runs.sort((one, other) => one - other)[(SEEDS - 1) / 2]).toBeLessThanOrEqual(MOST_AT_RANDOM)
  })

  it.each(bugs)('finds nothing without %s', async (_what, twin) => {
    const { body, options } = twin(true)
    const { runs } = await exploreAll(body, { ...options, decider: 'random', budget: { runs: 100 } })
    expect(runs).toBe(100)
    expect((await exploreAll(body, { ...options, maxDeviations: 1 })).complete).toBe(true)
  })
})
