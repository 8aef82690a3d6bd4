import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { A, B, idsOf, type Subject } from '../subject.ts'

/** Makes engine `B` live until instant 100. */
async function arrive(s: Subject): Promise<void> {
  await s.tick(B, 0, { leaseUntil: s.at(100) })
}

/** Laws of engines that start, die and leave, and of their runs. */
export const ownerLaws: readonly Law[] = [
  {
    id: 'owners/executing-runs-are-interrupted',
    law: 'A run of a dead owner is claimed from leaseUntil on: attempt and interruptions + 1, policyAttempt unchanged.',
    async check(s) {
      await arrive(s)
      const run = await s.start('r', {}, B)
      same('a claim before', idsOf((await s.claim({ now: 99 })).runs), [])
      like('a claim at leaseUntil', (await s.claim({ now: 100 })).runs, [
        { id: 'r', attempt: 2, policyAttempt: 1, interruptions: 1, epoch: run.epoch + 1, owner: A },
      ])
      await s.update(run, { status: 'DELAYED', wakeAt: s.at(110) }, 101)
      like('a retry', (await s.claim({ now: 110 })).runs, [{ id: 'r', attempt: 3, policyAttempt: 2 }])
    },
  },
  {
    id: 'owners/lost-leases-are-told',
    law: 'The tick of an owner that lost its lease answers that it is no longer alive, and does nothing else.',
    async check(s) {
      await arrive(s)
      await s.insertToken('t', { timeoutAt: s.at(50) })
      await s.tick(A, 100)
      like('the tick of the owner that lost its lease', await s.tick(B, 100), {
        alive: false,
        ready: [],
        settled: [],
        expired: [],
        claimable: false,
      })
      like('a later tick', await s.tick(B, 200), { alive: false })
    },
  },
  {
    id: 'owners/ticks-renew-leases',
    law: 'Every tick prolongs the lease to its leaseUntil.',
    async check(s) {
      await arrive(s)
      await s.start('r', {}, B)
      like('the renewal', await s.tick(B, 50, { leaseUntil: s.at(150) }), {
        alive: true,
        leaseUntil: s.at(150),
      })
      same('a claim before the new end', idsOf((await s.claim({ now: 149 })).runs), [])
      same('a claim at the new end', idsOf((await s.claim({ now: 150 })).runs), ['r'])
    },
  },
  {
    id: 'owners/interrupted-runs-come-first',
    law: 'Interrupted and woken runs are claimed before queued ones.',
    async check(s) {
      await arrive(s)
      await s.start('interrupted', { createdAt: s.at(20) }, B)
      await s.insertRun('queued', {}, 10)
      same('the claim', idsOf((await s.claim({ now: 100 })).runs), ['interrupted', 'queued'])
    },
  },
  {
    id: 'owners/crashed-past-max-interruptions',
    law: 'A run that was interrupted more than maxInterruptions times in a row becomes CRASHED, in a new epoch.',
    async check(s) {
      await arrive(s)
      await s.start('r', { epoch: 4 }, B)
      const { runs, ended } = await s.claim({ now: 100, maxInterruptions: 0 })
      same('the claim', idsOf(runs), [])
      like('what ended', ended, [
        {
          record: {
            id: 'r',
            status: 'CRASHED',
            interruptions: 1,
            epoch: 6,
            slot: false,
            finishedAt: s.at(100),
          },
        },
      ])
      await s.tick(B, 100)
      await s.tick('engine-c', 100, { leaseUntil: s.at(200) })
      const again = await s.start('again', {}, 'engine-c')
      await s.claim({ now: 200, maxInterruptions: 1 })
      await s.update(again, { status: 'DELAYED', wakeAt: s.at(201) }, 200)
      like('a retry of an interrupted run', await s.claim({ now: 201, maxInterruptions: 0 }), {
        runs: [{ id: 'again', attempt: 3, interruptions: 1 }],
        ended: [],
      })
    },
  },
  {
    id: 'owners/returned-runs-complete',
    law: 'A run that had returned when its owner died becomes COMPLETED with its output, in a new epoch, and is not executed again.',
    async check(s) {
      await arrive(s)
      const run = await s.start('r', {}, B)
      await s.update(run, { returned: true, slot: false, outputJson: '42' })
      await s.update(await s.startParked('s', 't', B), { returned: true, outputJson: '43' })
      await s.start('beside')
      const { runs, ended } = await s.claim({ now: 100, queueLimits: new Map([['queue', 1]]) })
      same('the claim', idsOf(runs), [])
      like('what ended', ended, [
        { record: { id: 'r', status: 'COMPLETED', outputJson: '42', epoch: 2 } },
        { record: { id: 's', status: 'COMPLETED', outputJson: '43', epoch: 2 } },
      ])
    },
  },
  {
    id: 'owners/parked-runs-stay-asleep',
    law: 'A parked run of a dead owner is not claimed while none of its waits is settled or due.',
    async check(s) {
      await arrive(s)
      await s.startParked('r', 't', B)
      same('a claim long after', await s.claim({ now: 500 }), { runs: [], ended: [] })
      same('its open waits', idsOf(await s.storage.runs.waits('r')), ['t'])
    },
  },
  {
    id: 'owners/settled-waits-wake-parked-runs',
    law: 'A parked run of a dead owner is claimed once one of its waits is settled: attempt + 1, interruptions unchanged.',
    async check(s) {
      await arrive(s)
      await s.startParked('r', 't', B)
      await s.tick(A, 100)
      await s.settle('t', 101)
      like('the claim', (await s.claim({ now: 101 })).runs, [
        { id: 'r', status: 'EXECUTING', attempt: 2, policyAttempt: 1, interruptions: 0, owner: A },
      ])
    },
  },
  {
    id: 'owners/due-waits-wake-parked-runs',
    law: 'A parked run without an owner is claimed once one of its waits is due, with or without a tick.',
    async check(s) {
      await arrive(s)
      const run = await s.start('r', {}, B)
      await s.insertToken('t', { timeoutAt: s.at(200) })
      await s.wait(run, 't')
      await s.storage.runs.park(s.fenceOf(run))
      same('a claim before', idsOf((await s.claim({ now: 199 })).runs), [])
      same('a claim at the deadline', idsOf((await s.claim({ now: 200 })).runs), ['r'])
    },
  },
  {
    id: 'owners/ended-children-wake-parked-runs',
    law: 'A parked run without an owner is claimed once a run it waits for has ended.',
    async check(s) {
      await arrive(s)
      const child = await s.start('child')
      const parent = await s.start('parent', {}, B)
      await s.wait(parent, 'run:child')
      await s.storage.runs.park(s.fenceOf(parent))
      same('a claim before', idsOf((await s.claim({ now: 100 })).runs), [])
      await s.update(child, { status: 'COMPLETED' })
      same('a claim after', idsOf((await s.claim({ now: 100 })).runs), ['parent'])
    },
  },
  {
    id: 'owners/old-waits-are-dropped',
    law: 'A claim drops the earlier waits of the run.',
    async check(s) {
      await arrive(s)
      const run = await s.start('r', {}, B)
      await s.insertToken('t')
      await s.wait(run, 't')
      await s.claim({ now: 100 })
      same('what the run waits for', idsOf(await s.storage.runs.waits('r')), [])
      like('the waits of a completion', await s.settle('t', 100), { ready: [] })
    },
  },
  {
    id: 'leave/frees-its-runs',
    law: 'An owner that leaves frees its runs at once, without an interruption; it may return.',
    async check(s) {
      await arrive(s)
      await s.start('r', {}, B)
      await s.leave(B, 5)
      like('the run', await s.storage.runs.get('r'), { status: 'EXECUTING', owner: undefined })
      like('the claim', (await s.claim({ now: 5 })).runs, [{ id: 'r', attempt: 2, interruptions: 0 }])
      like('its tick when it returns', await s.tick(B, 6), { alive: true })
      await s.startParked('parked', 't', B)
      await s.leave(B, 7)
      await s.settle('t', 8)
      like('its tick when it returns again', await s.tick(B, 9), { alive: true, ready: [] })
    },
  },
  {
    id: 'tokens.release/orphans-keep-their-waits',
    law: 'A parked run without an owner keeps its waits, because they wake it.',
    async check(s) {
      await arrive(s)
      await s.startParked('r', 't', B)
      await s.leave(B, 5)
      await s.storage.tokens.release([{ tokenId: 't', runId: 'r', owner: B }])
      await s.settle('t', 6)
      same('the claim', idsOf((await s.claim({ now: 6 })).runs), ['r'])
      await arrive(s)
      const executing = await s.start('executing', {}, B)
      await s.insertToken('open')
      await s.wait(executing, 'open')
      await s.leave(B, 7)
      await s.storage.tokens.release([{ tokenId: 'open', runId: 'executing', owner: B }])
      same('waits of one that executed', idsOf(await s.storage.runs.waits('executing')), [])
    },
  },
  {
    id: 'owners/refused-runs-hold-nothing-back',
    law: 'A refused run holds no run back that goes on, and no queued run once its owner is gone.',
    async check(s) {
      const queueLimits = new Map([['queue', 1]])
      await s.tick('engine-c')
      await s.startParked('orphan', 'ready', 'engine-c')
      await s.leave('engine-c', 0)
      await arrive(s)
      const run = await s.startParked('r', 't', B)
      const other = await s.start('other')
      await s.storage.runs.resume({ ...s.fenceOf(run), queueLimit: 1 })
      await s.update(other, { status: 'COMPLETED' })
      await s.insertRun('queued')
      same('a claim while its owner lives', idsOf((await s.claim({ queueLimits, now: 98 })).runs), [])
      await s.settle('ready')
      same('a run that goes on', idsOf((await s.claim({ queueLimits, now: 99 })).runs), ['orphan'])
      await s.update({ id: 'orphan' }, { status: 'COMPLETED' }, 99)
      same('a claim after that', idsOf((await s.claim({ queueLimits, now: 99 })).runs), [])
      same('when its owner is gone', idsOf((await s.claim({ queueLimits, now: 100 })).runs), ['queued'])
    },
  },
  {
    id: 'tick/endless-lease',
    law: 'An endless lease lasts while its owner is alone, and ends at the leaseUntil of the first tick of another owner.',
    capability: 'endlessLease',
    async check(s) {
      await s.leave(A, 0)
      same('the answer', (await s.tick(B, 0, { leaseUntil: s.at(100), endless: true })).leaseUntil, undefined)
      await s.insertRun('r')
      same('its claim after leaseUntil', idsOf((await s.claim({ by: B, now: 5_000 })).runs), ['r'])
      like('the tick of a new owner', await s.tick(A, 6_000, { leaseUntil: s.at(6_100), endless: true }), {
        leaseUntil: s.at(6_100),
        nextLease: { at: s.at(6_100) },
      })
      same('a claim before the end', idsOf((await s.claim({ now: 6_099 })).runs), [])
    },
  },
]
