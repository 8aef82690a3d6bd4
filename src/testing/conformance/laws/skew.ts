import type { Law } from '../law.ts'
import { like, refused, same } from '../sameness.ts'
import { A, B, idsOf } from '../subject.ts'

/** Laws of owners whose clocks differ, and of calls whose answers were lost. */
export const skewLaws: readonly Law[] = [
  {
    id: 'skew/updated-at-never-decreases',
    law: 'updatedAt never decreases, whatever the clock of the caller says.',
    async check(s) {
      const run = await s.start('r')
      await s.update(run, { metadataJson: '1' }, 50)
      const updated = await s.update(run, { metadataJson: '2' }, 20)
      like('an update by a slow clock', updated?.record, { metadataJson: '2', updatedAt: s.at(50) })
    },
  },
  {
    id: 'skew/timed-out-for-everybody',
    law: 'A token that a fast clock has timed out is TIMED_OUT for every owner, also before the deadline by its own clock.',
    async check(s) {
      await s.insertToken('t', { timeoutAt: s.at(100) })
      await s.storage.tokens.get('t', s.at(100))
      const record = { status: 'TIMED_OUT', completedAt: s.at(100), outputJson: undefined }
      like('a completion by a slow clock', await s.settle('t', 50, { by: B }), { won: false, record })
      like('a read by a slow clock', await s.storage.tokens.get('t', s.at(50)), { settledNow: false, record })
    },
  },
  {
    id: 'skew/completed-for-everybody',
    law: 'A token that a slow clock has completed is COMPLETED for every owner, also after the deadline by its own clock.',
    async check(s) {
      await s.insertToken('t', { timeoutAt: s.at(100) })
      await s.tick(A, 99)
      like('the completion', await s.settle('t', 50), { won: true })
      like('a read by a fast clock', await s.storage.tokens.get('t', s.at(200)), {
        settledNow: false,
        record: { status: 'COMPLETED' },
      })
      same('what a tick by a fast clock settles', idsOf((await s.tick(A, 200)).settled), [])
    },
  },
  {
    id: 'skew/lost-leases-stay-lost',
    law: 'A lease that a fast clock has ended is lost, also for an owner by whose clock it lasts; its attempts are stale.',
    async check(s) {
      await s.tick(B, 0, { leaseUntil: s.at(100) })
      const run = await s.start('r', {}, B)
      await s.insertToken('t')
      same('the claim of a fast clock', idsOf((await s.claim({ now: 100 })).runs), ['r'])
      like('the tick of a slow one', await s.tick(B, 50), { alive: false })
      same('its claim', (await s.claim({ by: B, now: 51 })).runs, [])
      same('its wait', await s.wait(run, 't', 51), { outcome: 'stale' })
      same('its park', await s.storage.runs.park(s.fenceOf(run, 51)), undefined)
    },
  },
  {
    id: 'unknown/settle-again',
    law: 'A completion whose answer was lost may be repeated: it loses, and answers its own output.',
    async check(s) {
      await s.insertToken('t', { timeoutAt: s.at(100) })
      await s.settle('t', 1, { outputJson: '"mine"' })
      like('the repetition', await s.settle('t', 1, { outputJson: '"mine"' }), {
        won: false,
        record: { outputJson: '"mine"', completedAt: s.at(1) },
      })
    },
  },
  {
    id: 'unknown/finish-again',
    law: 'The end of a run whose answer was lost may be stored again: nothing changes, and the record shows the first end.',
    async check(s) {
      const run = await s.start('r')
      const request = {
        id: 'r',
        expected: { status: ['EXECUTING'], epoch: run.epoch },
        change: { status: 'COMPLETED', outputJson: '1', finishedAt: s.at(1) },
        by: A,
        now: s.at(1),
      } as const
      await s.storage.runs.update(request)
      same('the repetition', await s.storage.runs.update(request), undefined)
      like('the record', await s.storage.runs.get('r'), { status: 'COMPLETED', outputJson: '1' })
    },
  },
  {
    id: 'unknown/insert-again',
    law: 'A record is inserted once: inserting its id again is an error, and the stored record stays as it is.',
    async check(s) {
      await s.insertToken('t', { tags: ['first'] })
      await refused('the same token', () => s.insertToken('t', { tags: ['second'] }))
      like('the token', (await s.storage.tokens.get('t', s.at(0)))?.record, { tags: ['first'] })
      await s.insertRun('r', { tags: ['first'] })
      await refused('the same run', () => s.insertRun('r', { tags: ['second'] }))
      like('the run', await s.storage.runs.get('r'), { tags: ['first'] })
    },
  },
]
