import type { RunClaim } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { B, idsOf, type Subject } from '../subject.ts'

/** Engine `B` executes runs that have been interrupted so often before, and dies at instant 100. */
async function die(s: Subject, runs: Readonly<Record<string, number>>): Promise<void> {
  await s.tick(B, 0, { leaseUntil: s.at(100) })
  for (const [id, interruptions] of Object.entries(runs)) await s.start(id, { interruptions }, B)
}

/** What engine `A` claims at instant 100. */
async function claimed(
  s: Subject,
  fields: Partial<RunClaim>,
): Promise<{ readonly ids: readonly string[]; readonly isHeldBack: boolean; readonly isTrialDue: boolean }> {
  const { runs, ended, isHeldBack = false, isTrialDue = false } = await s.claim({ now: 100, ...fields })
  const crashed = ended.map(({ record }) => `${record.id} ${record.status}`)
  return { ids: [...idsOf(runs), ...crashed], isHeldBack, isTrialDue }
}

const LEFT = { isHeldBack: true, isTrialDue: false }
const ALL = { isHeldBack: false, isTrialDue: false }

/** Laws of runs that executed in an engine that died. */
export const suspectLaws: readonly Law[] = [
  {
    id: 'suspects/crash-alone',
    law: 'A run past maxInterruptions becomes CRASHED only if no other run of its owner was EXECUTING when the lease was lost.',
    async check(s) {
      await s.tick('engine-c', 0, { leaseUntil: s.at(50) })
      await s.startParked('parked', 't', 'engine-c')
      await s.start('alone', { interruptions: 1 }, 'engine-c')
      await die(s, { one: 1, other: 2 })
      // The one that has ended takes no place in the group.
      const most = { maxInterruptions: 1 }
      same('the claim', await claimed(s, most), { ...ALL, ids: ['one', 'other', 'alone CRASHED'] })
      like('one of them', await s.storage.runs.get('one'), { status: 'EXECUTING', interruptions: 2 })
    },
  },
  {
    id: 'suspects/crash-with-any-claim',
    law: 'A run past maxInterruptions whose owner died with it alone becomes CRASHED, whatever suspects a claim may take.',
    async check(s) {
      for (const owner of ['engine-c', 'engine-d']) await s.tick(owner, 0, { leaseUntil: s.at(100) })
      await s.tick('engine-e', 0, { leaseUntil: s.at(200) })
      await die(s, { one: 0, other: 0 })
      await s.start('first', { interruptions: 1 }, 'engine-c')
      await s.start('second', { interruptions: 4 }, 'engine-d')
      await s.start('third', { interruptions: 5 }, 'engine-e')
      const few = { maxInterruptions: 1, suspects: 100 }
      same('a claim without room', await claimed(s, few), {
        ...LEFT,
        ids: ['first CRASHED', 'second CRASHED'],
      })
      same('a trial', await claimed(s, { maxInterruptions: 5, isTrial: true, limit: 1, now: 200 }), {
        ...LEFT,
        ids: ['third CRASHED'],
      })
    },
  },
  {
    id: 'suspects/groups-are-halved',
    law: 'With d interruptions a suspect is claimed while its engine executes fewer than 2 ** (max(4, maxInterruptions) - d) of them.',
    async check(s) {
      await die(s, { a: 3, b: 3, c: 3, d: 3, e: 3 })
      await s.insertRun('queued')
      const most = { maxInterruptions: 6 }
      same('a claim of an engine with two', await claimed(s, { ...most, suspects: 2 }), {
        ...LEFT,
        ids: ['a', 'b', 'queued'],
      })
      same('of one with four', await claimed(s, { ...most, suspects: 4 }), { ...LEFT, ids: [] })
      same('of one with one', await claimed(s, { maxInterruptions: 5, suspects: 1 }), { ...LEFT, ids: ['c'] })
      same('of one with none', await claimed(s, most), { ...ALL, ids: ['d', 'e'] })
    },
  },
  {
    id: 'suspects/groups-of-few-interruptions',
    law: 'Suspects are claimed in groups before one is to be executed alone, also with a small maxInterruptions.',
    async check(s) {
      await die(s, { a: 2, b: 2, c: 2 })
      same('the claim', await claimed(s, { maxInterruptions: 0 }), { ...LEFT, ids: ['a', 'b'] })
    },
  },
  {
    id: 'suspects/fewest-interruptions-come-first',
    law: 'Suspects come before all other runs, those with the fewest interruptions first, and then the oldest.',
    async check(s) {
      await s.tick('engine-c')
      await s.startParked('parked', 't', 'engine-c')
      await s.leave('engine-c', 0)
      await die(s, { thrice: 2, twice: 1 })
      await s.start('young', { createdAt: s.at(20) }, B)
      await s.start('old', { createdAt: s.at(10) }, B)
      await s.settle('t', 99)
      same('the claim', await claimed(s, {}), { ...ALL, ids: ['old', 'young', 'twice', 'thrice', 'parked'] })
    },
  },
  {
    id: 'suspects/are-tried-alone',
    law: 'A suspect with max(4, maxInterruptions) interruptions is claimed by a claim with isTrial, which claims nothing else.',
    async check(s) {
      await die(s, { few: 4, many: 5, more: 6 })
      await s.insertRun('queued')
      const trial = { maxInterruptions: 6, isTrial: true, limit: 1 }
      const usual = { maxInterruptions: 6 }
      same('a trial', await claimed(s, trial), { ...LEFT, ids: ['many'] })
      const due = { isHeldBack: false, isTrialDue: true }
      same('a claim', await claimed(s, usual), { ...due, ids: ['few', 'queued'] })
      same('a claim when no other is left', await claimed(s, usual), { ...due, ids: [] })
      same('a claim of another task', (await claimed(s, { ...usual, taskIds: ['other'] })).isTrialDue, false)
      same('the next trial', await claimed(s, trial), { ...ALL, ids: ['more'] })
      await s.insertRun('beside')
      same('the last one', await claimed(s, trial), { ...ALL, ids: [] })
      await s.tick('engine-c', 100, { leaseUntil: s.at(200) })
      await s.insertRun('again', { interruptions: 3 })
      await s.claim({ by: 'engine-c', now: 100 })
      const few = { maxInterruptions: 1, now: 200 }
      same('with a small maxInterruptions', await claimed(s, few), { ...due, ids: ['beside'] })
    },
  },
  {
    id: 'suspects/left-gracefully',
    law: 'A run that was interrupted before is a suspect when its owner has left, and no death is counted.',
    async check(s) {
      await die(s, { often: 4, seldom: 3, never: 0 })
      await s.leave(B, 50)
      const { ids, isTrialDue } = await claimed(s, { maxInterruptions: 4 })
      same('the claim', ids, ['seldom', 'never'])
      same('what is to be executed alone', isTrialDue, true)
      like('the run', await s.storage.runs.get('seldom'), { interruptions: 3 })
      same('the trial', await claimed(s, { maxInterruptions: 3, isTrial: true }), { ...ALL, ids: ['often'] })
    },
  },
  {
    id: 'suspects/others-are-not',
    law: 'A run that has returned, that was handed back without its slot, or that is retried is no suspect.',
    async check(s) {
      await die(s, { returned: 9, back: 9, retried: 9 })
      await s.update({ id: 'returned' }, { returned: true })
      await s.update({ id: 'back' }, { status: 'EXECUTING', owner: undefined })
      await s.update({ id: 'retried' }, { status: 'DELAYED', wakeAt: s.at(60) })
      same('the claim', await claimed(s, { maxInterruptions: 4, suspects: 100 }), {
        ...ALL,
        ids: ['back', 'retried', 'returned COMPLETED'],
      })
    },
  },
]
