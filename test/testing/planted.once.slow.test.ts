import { describe, expect, it } from 'vitest'
import { ExplorationError } from 'waitpoint/testing'
import { rejection } from '../support/body-task.ts'
import { exploreAll } from './exploration/bodies.ts'
import { checkThenAct } from './planted/check-then-act.ts'
import { checkThenAct as checkThenActFixed } from './planted/check-then-act.fixed.ts'
import { doubleDelivery } from './planted/double-delivery.ts'
import { doubleDelivery as doubleDeliveryFixed } from './planted/double-delivery.fixed.ts'
import { earlyAcknowledgement } from './planted/early-acknowledgement.ts'
import { earlyAcknowledgement as earlyAcknowledgementFixed } from './planted/early-acknowledgement.fixed.ts'
import { forgottenWaiter } from './planted/forgotten-waiter.ts'
import { forgottenWaiter as forgottenWaiterFixed } from './planted/forgotten-waiter.fixed.ts'
import { leaseOutlived } from './planted/lease-outlived.ts'
import { leaseOutlived as leaseOutlivedFixed } from './planted/lease-outlived.fixed.ts'
import { lostWakeUp } from './planted/lost-wake-up.ts'
import { lostWakeUp as lostWakeUpFixed } from './planted/lost-wake-up.fixed.ts'
import { missedWaiter } from './planted/missed-waiter.ts'
import { missedWaiter as missedWaiterFixed } from './planted/missed-waiter.fixed.ts'
import type { Planted } from './planted/planted.ts'
import { raceDecidedTwice } from './planted/race-decided-twice.ts'
import { raceDecidedTwice as raceDecidedTwiceFixed } from './planted/race-decided-twice.fixed.ts'
import { repeatedCharge } from './planted/repeated-charge.ts'
import { repeatedCharge as repeatedChargeFixed } from './planted/repeated-charge.fixed.ts'
import { loserActs } from './planted/loser-acts.ts'
import { loserActs as loserActsFixed } from './planted/loser-acts.fixed.ts'
import { lostUpdate } from './planted/lost-update.ts'
import { lostUpdate as lostUpdateFixed } from './planted/lost-update.fixed.ts'
import { oversold } from './planted/oversold.ts'
import { oversold as oversoldFixed } from './planted/oversold.fixed.ts'
import { refundAfterCancel } from './planted/refund-after-cancel.ts'
import { refundAfterCancel as refundAfterCancelFixed } from './planted/refund-after-cancel.fixed.ts'
import { remindedTwice } from './planted/reminded-twice.ts'
import { remindedTwice as remindedTwiceFixed } from './planted/reminded-twice.fixed.ts'
import { sameValueAgain } from './planted/same-value-again.ts'
import { sameValueAgain as sameValueAgainFixed } from './planted/same-value-again.fixed.ts'
import { sessionExpired } from './planted/session-expired.ts'
import { sessionExpired as sessionExpiredFixed } from './planted/session-expired.fixed.ts'
import { staleCache } from './planted/stale-cache.ts'
import { staleCache as staleCacheFixed } from './planted/stale-cache.fixed.ts'
import { statusOvertaken } from './planted/status-overtaken.ts'
import { statusOvertaken as statusOvertakenFixed } from './planted/status-overtaken.fixed.ts'
import { takenOffTooEarly } from './planted/taken-off-too-early.ts'
import { takenOffTooEarly as takenOffTooEarlyFixed } from './planted/taken-off-too-early.fixed.ts'

/** Schedules without each bug, and a seed for each fifty. More in the long run: `WAITPOINT_CASES=1000`. */
const SCHEDULES = Number(process.env['WAITPOINT_CASES'] ?? 250)
const SEEDS = Math.ceil(SCHEDULES / 50)

const bugs: readonly (readonly [what: string, buggy: Planted, fixed: Planted])[] = [
  ['a check and an act that are two steps', checkThenAct, checkThenActFixed],
  ['a lost wake-up', lostWakeUp, lostWakeUpFixed],
  ['a settle that misses a waiter', missedWaiter, missedWaiterFixed],
  ['an acknowledgement before the write', earlyAcknowledgement, earlyAcknowledgementFixed],
  ['a double delivery', doubleDelivery, doubleDeliveryFixed],
  ['a waiter forgotten on cancel', forgottenWaiter, forgottenWaiterFixed],
  ['a charge repeated after a crash', repeatedCharge, repeatedChargeFixed],
  // These two were written from the README alone.
  ['a race that is decided twice', raceDecidedTwice, raceDecidedTwiceFixed],
  ['a lock that expires before its holder is done', leaseOutlived, leaseOutlivedFixed],
  ['an answer that is acted on although it lost', loserActs, loserActsFixed],
  ['an update that is lost', lostUpdate, lostUpdateFixed],
  ['a ticket that is sold twice', oversold, oversoldFixed],
  ['a refund of what was shipped', refundAfterCancel, refundAfterCancelFixed],
  ['a reminder that is sent twice after a crash', remindedTwice, remindedTwiceFixed],
  ['a value that changes and changes back', sameValueAgain, sameValueAgainFixed],
  ['a session that ends on the way', sessionExpired, sessionExpiredFixed],
  ['a cache that keeps an old price', staleCache, staleCacheFixed],
  ['a status that overtakes the next one', statusOvertaken, statusOvertakenFixed],
  ['a job that is lost with its process', takenOffTooEarly, takenOffTooEarlyFixed],
]

async function find({ body, options }: Planted, seed: number): Promise<ExplorationError> {
  const error = await rejection(exploreAll(body, { ...options, decider: 'random', seed }))
  if (error instanceof ExplorationError) return error
  throw error
}

describe('explore', () => {
  it.each(bugs)('finds %s with every seed, shrinks it and replays it', async (_what, buggy) => {
    const runs: number[] = []
    for (let seed = 1; seed <= SEEDS; seed++) {
      const error = await find(buggy, seed)
      expect(error.invariant, error.message).toBe(buggy.breaks)
      expect(error.trace.length, error.message).toBeLessThanOrEqual(2)
      const again = await rejection(exploreAll(buggy.body, { ...buggy.options, replay: error.replay }))
      expect(again).toMatchObject({ invariant: buggy.breaks, replay: error.replay })
      runs.push(error.run)
    }
    expect(runs.sort((one, other) => one - other)[Math.floor(SEEDS / 2)]).toBeLessThanOrEqual(50)
  })

  it.each(bugs)('finds %s in order, within 50 schedules', async (_what, { body, options, breaks }) => {
    expect(await rejection(exploreAll(body, { ...options, budget: { runs: 50 } }))).toMatchObject({
      invariant: breaks,
    })
  })

  it.each(bugs)(
    `finds nothing in ${SCHEDULES} schedules without %s`,
    async (_what, _buggy, { body, options }) => {
      const { runs } = await exploreAll(body, { ...options, decider: 'random', budget: { runs: SCHEDULES } })
      expect(runs).toBe(SCHEDULES)
    },
  )
})
