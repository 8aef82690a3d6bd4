import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { B, idsOf } from '../subject.ts'

/** Laws of the priority of runs. */
export const priorityLaws: readonly Law[] = [
  {
    id: 'runs.claim/ahead-by-priority',
    law: 'A run is claimed as if it had been created priorityMs earlier, later if that is negative; inserts, reads and claims answer it.',
    async check(s) {
      await s.insertRun('plain')
      const [ahead, behind] = [{ priorityMs: 10.5 }, { priorityMs: -10 }]
      await s.insertRun('behind', behind, 1)
      await s.insertRun('ahead', ahead, 10)
      await s.insertRun('delayed', { status: 'DELAYED', wakeAt: s.at(20), priorityMs: 19 }, 10)
      await s.insertRun('too old', { priorityMs: 3 }, 8)
      like('the record', await s.storage.runs.get('behind'), behind)
      const { runs } = await s.claim({ now: 20 })
      same('the claim', idsOf(runs), ['ahead', 'plain', 'delayed', 'too old', 'behind'])
      like('what it answers', runs, [ahead, { priorityMs: undefined }, {}, {}, behind])
    },
  },
  {
    id: 'runs.claim/priority-outlives-attempts',
    law: 'The priority of a run counts again after a retry, and after an owner that is gone.',
    async check(s) {
      const retried = await s.start('retried', { priorityMs: 100 })
      await s.update(retried, { status: 'DELAYED', wakeAt: s.at(60) }, 1)
      await s.insertRun('old', {}, 2)
      same('after a retry', idsOf((await s.claim({ now: 60 })).runs), ['retried', 'old'])
      await s.tick(B)
      await s.insertToken('t')
      for (const [id, priorityMs] of Object.entries({ executed: 0, parked: 30, ahead: 50, returned: 70 }))
        await s.insertRun(id, { priorityMs }, 61)
      const { runs } = await s.claim({ by: B, now: 61 })
      for (const run of runs.filter(({ id }) => id === 'parked' || id === 'returned')) {
        await s.wait(run, 't', 61)
        await s.storage.runs.park(s.fenceOf(run, 61))
      }
      await s.leave(B, 62)
      await s.settle('t', 63)
      const order = ['returned', 'ahead', 'parked', 'executed']
      same('after an owner', idsOf((await s.claim({ now: 64 })).runs), order)
    },
  },
  {
    id: 'runs.claim/what-goes-on-comes-first',
    law: 'A run that goes on is claimed before runs that start, whatever their priority.',
    async check(s) {
      await s.tick(B)
      await s.start('goes on', {}, B)
      await s.insertRun('starts', { priorityMs: 1_000 }, 1)
      await s.leave(B, 2)
      same('the claim', idsOf((await s.claim({ now: 3 })).runs), ['goes on', 'starts'])
    },
  },
]
