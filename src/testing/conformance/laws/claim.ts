import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { A, B, idsOf } from '../subject.ts'

/** Laws of `runs.claim`: which runs an owner receives, and in which order. */
export const claimLaws: readonly Law[] = [
  {
    id: 'runs.claim/starts-an-attempt',
    law: 'A claimed run is EXECUTING, holds a slot, has the caller as owner, and attempt, policyAttempt and epoch raised.',
    async check(s) {
      const { record } = (await s.insertRun('r', { epoch: 3 })) as { record: object }
      const run = {
        ...record,
        status: 'EXECUTING',
        attempt: 1,
        policyAttempt: 1,
        owner: A,
        epoch: 4,
        slot: true,
        startedAt: s.at(5),
        updatedAt: s.at(5),
      }
      same('the claim', await s.claim({ now: 5 }), { runs: [run], ended: [] })
      same('the record', await s.storage.runs.get('r'), run)
    },
  },
  {
    id: 'runs.claim/oldest-first-and-once',
    law: 'Runs are handed out oldest first, up to the limit, each once.',
    async check(s) {
      for (const [at, id] of ['c', 'a', 'b'].entries()) await s.insertRun(id, {}, at)
      same('the first claim', idsOf((await s.claim({ now: 9, limit: 2 })).runs), ['c', 'a'])
      same('the second claim', idsOf((await s.claim({ now: 9, limit: 2 })).runs), ['b'])
      same('the third claim', idsOf((await s.claim({ now: 9 })).runs), [])
    },
  },
  {
    id: 'runs.claim/needs-a-live-lease',
    law: 'Without a live lease no run is claimed.',
    async check(s) {
      await s.insertRun('r')
      same('the claim of a stranger', await s.claim({ by: B }), { runs: [], ended: [] })
      await s.tick(B, 0, { leaseUntil: s.at(10) })
      same('the claim at the end of the lease', await s.claim({ by: B, now: 10 }), { runs: [], ended: [] })
      same('the claim of the live owner', idsOf((await s.claim({ now: 10 })).runs), ['r'])
    },
  },
  {
    id: 'runs.claim/refused-claims-do-not-count',
    law: 'The number of a claim that was refused without a lease may be used again.',
    async check(s) {
      await s.insertRun('r')
      await s.claim({ by: B, number: 7 })
      await s.tick(B)
      same('the claim with that number', idsOf((await s.claim({ by: B, number: 7 })).runs), ['r'])
    },
  },
  {
    id: 'runs.claim/living-owners-keep-theirs',
    law: 'A run that executes or is parked under an owner with a live lease is not claimed.',
    async check(s) {
      await s.tick(B, 0, { leaseUntil: s.at(100) })
      await s.startParked('parked', 't', B)
      await s.start('executing', {}, B)
      await s.settle('t')
      same('a claim before the lease ends', await s.claim({ now: 99 }), { runs: [], ended: [] })
    },
  },
  {
    id: 'runs.claim/only-asked-for-tasks',
    law: 'Runs of other tasks than the requested ones stay where they are.',
    async check(s) {
      await s.insertRun('other', { taskId: 'other' })
      await s.insertRun('mine')
      same('the claim', idsOf((await s.claim()).runs), ['mine'])
    },
  },
  {
    id: 'runs.claim/delayed-runs-at-their-instant',
    law: 'A DELAYED run is claimed from its current wakeAt on, in order of that instant among the queued runs.',
    async check(s) {
      await s.insertRun('delayed', { status: 'DELAYED', wakeAt: s.at(10) })
      await s.insertRun('later', {}, 15)
      same('before', idsOf((await s.claim({ now: 9, limit: 1 })).runs).includes('delayed'), false)
      await s.insertRun('last', {}, 20)
      const { runs } = await s.claim({ now: 20 })
      same(
        'at its instant',
        idsOf(runs).filter((id) => id !== 'later'),
        ['delayed', 'last'],
      )
      same('its wakeAt', runs.find(({ id }) => id === 'delayed')?.wakeAt, undefined)
      await s.insertRun('sooner', { status: 'DELAYED', wakeAt: s.at(90) }, 30)
      await s.insertRun('put off', { status: 'DELAYED', wakeAt: s.at(40) }, 30)
      await s.update({ id: 'sooner' }, { status: 'DELAYED', wakeAt: s.at(50) }, 31)
      await s.update({ id: 'put off' }, { status: 'DELAYED', wakeAt: s.at(70) }, 31)
      same('before it was moved to', idsOf((await s.claim({ now: 49 })).runs), [])
      same('when it was moved to', idsOf((await s.claim({ now: 50 })).runs), ['sooner'])
      same('put off until', idsOf((await s.claim({ now: 70 })).runs), ['put off'])
      await s.insertRun('at once', { status: 'DELAYED', wakeAt: s.at(900) }, 80)
      await s.insertRun('behind', {}, 81)
      await s.update({ id: 'at once' }, { status: 'QUEUED' }, 82)
      same('no longer delayed', idsOf((await s.claim({ now: 83 })).runs), ['at once', 'behind'])
    },
  },
  {
    id: 'runs.claim/expires-what-never-started',
    law: 'A run that was never started becomes EXPIRED at expiresAt, and is answered in ended.',
    async check(s) {
      await s.insertRun('r', { expiresAt: s.at(50) })
      const { runs, ended } = await s.claim({ now: 60 })
      same('the claim', idsOf(runs), [])
      like('what ended', ended, [{ record: { id: 'r', status: 'EXPIRED', finishedAt: s.at(50) }, ready: [] }])
    },
  },
  {
    id: 'runs.claim/retries-do-not-expire',
    law: 'A run that has started once does not expire.',
    async check(s) {
      const run = await s.start('r', { expiresAt: s.at(50) })
      await s.update(run, { status: 'DELAYED', wakeAt: s.at(60) })
      like('the retry', (await s.claim({ now: 60 })).runs, [
        { id: 'r', attempt: 2, policyAttempt: 2, wakeAt: undefined, startedAt: s.at(0) },
      ])
    },
  },
  {
    id: 'runs.claim/queue-limits',
    law: 'No more runs of a queue are claimed than it has free slots, counted for each concurrency key; other queues have no limit.',
    async check(s) {
      const key = { queue: 'narrow', concurrencyKey: 'x' }
      await s.insertRun('a', key)
      await s.insertRun('b', key)
      await s.insertRun('c', { queue: 'narrow', concurrencyKey: 'y' })
      await s.insertRun('d', { queue: 'wide' })
      const queueLimits = new Map([['narrow', 1]])
      const { runs } = await s.claim({ queueLimits })
      same('the first claim', idsOf(runs).sort(), ['a', 'c', 'd'])
      const [run] = runs.filter(({ id }) => id === 'a')
      if (run !== undefined) await s.update(run, { status: 'COMPLETED' })
      same('when the slot is free', idsOf((await s.claim({ queueLimits })).runs), ['b'])
    },
  },
  {
    id: 'runs.claim/muster',
    law: 'A claim with a limit of 0 claims nothing, and answers the runs that its caller was given.',
    async check(s) {
      await s.tick(B)
      await s.start('of another', {}, B)
      await s.insertRun('a')
      const { runs } = await s.claim({ limit: 1 })
      await s.insertRun('b')
      same('the muster', await s.claim({ limit: 0 }), { runs, ended: [] })
      same('the next claim', idsOf((await s.claim()).runs), ['b'])
      same('a muster of both', idsOf((await s.claim({ limit: 0 })).runs), ['a', 'b'])
    },
  },
  {
    id: 'runs.claim/muster-omits-what-went-on',
    law: 'A muster leaves out runs that are no longer EXECUTING.',
    async check(s) {
      for (const id of ['a', 'b', 'c']) await s.insertRun(id)
      const { runs } = await s.claim()
      const [parked, over] = runs
      if (parked !== undefined) await s.storage.runs.park(s.fenceOf(parked))
      if (over !== undefined) await s.update(over, { status: 'COMPLETED' })
      same('the muster', await s.claim({ limit: 0 }), { runs: runs.slice(2), ended: [] })
    },
  },
  {
    id: 'runs.claim/number-is-too-late',
    law: 'A claim or a muster whose number is not above that of the last one changes nothing and answers no run.',
    async check(s) {
      await s.insertRun('a')
      await s.claim({ number: 5, limit: 1 })
      await s.insertRun('b')
      for (const number of [5, 4])
        for (const limit of [1, 0])
          same('the late claim', await s.claim({ number, limit }), { runs: [], ended: [] })
      same('the next claim', idsOf((await s.claim({ number: 6 })).runs), ['b'])
    },
  },
]
