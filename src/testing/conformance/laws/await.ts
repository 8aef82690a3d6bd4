import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { A, B, idsOf, namesOf } from '../subject.ts'

/** Laws of `tokens.await`: checking and registering are one step. */
export const awaitLaws: readonly Law[] = [
  {
    id: 'tokens.await/registers-an-open-token',
    law: 'Awaiting an open token registers a wait; runs.waits lists the waits for open tokens in order of registration.',
    async check(s) {
      const run = await s.start('r')
      for (const id of ['b', 'c', 'a']) await s.insertToken(id, { timeoutAt: s.at(100) })
      like('the answer', await s.wait(run, 'b', 99), { outcome: 'registered', token: { id: 'b' } })
      await s.wait(run, 'c')
      await s.wait(run, 'a')
      await s.settle('c')
      same('open waits', idsOf(await s.storage.runs.waits('r')), ['b', 'a'])
    },
  },
  {
    id: 'tokens.await/settled-registers-nothing',
    law: 'A settled token is answered at once, and no wait is registered.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('t')
      await s.settle('t', 1, { outputJson: '7' })
      like('the answer', await s.wait(run, 't', 2), {
        outcome: 'settled',
        settledNow: false,
        token: { status: 'COMPLETED', outputJson: '7' },
      })
      same('waits handed over', namesOf((await s.tick(A, 2)).ready), [])
    },
  },
  {
    id: 'tokens.await/times-out-at-the-deadline',
    law: 'Awaiting a token past its deadline settles it, for its other waiters too, and registers no wait.',
    async check(s) {
      const first = await s.start('first')
      const second = await s.start('second')
      await s.insertToken('t', { timeoutAt: s.at(100) })
      await s.wait(first, 't')
      like('the answer', await s.wait(second, 't', 100), {
        outcome: 'settled',
        settledNow: true,
        token: { status: 'TIMED_OUT', completedAt: s.at(100) },
      })
      same('waits handed over', namesOf((await s.tick(A, 100)).ready), [`t first ${A}`])
    },
  },
  {
    id: 'tokens.await/stale-fence',
    law: 'An attempt that no longer holds its run registers no wait and learns nothing: stale.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('t')
      await s.insertToken('settled')
      await s.settle('settled')
      same('an earlier epoch', await s.wait({ ...run, epoch: run.epoch - 1 }, 't'), { outcome: 'stale' })
      same('another owner', await s.wait({ ...run, owner: B }, 't'), { outcome: 'stale' })
      same('another owner, a settled token', await s.wait({ ...run, owner: B }, 'settled'), {
        outcome: 'stale',
      })
      await s.update(run, { status: 'COMPLETED' })
      same('a run that is over', await s.wait(run, 't'), { outcome: 'stale' })
    },
  },
  {
    id: 'tokens.await/unknown',
    law: 'Awaiting a token that does not exist answers unknown.',
    async check(s) {
      const run = await s.start('r')
      same('the answer', await s.wait(run, 'nothing'), { outcome: 'unknown' })
      same('a run that is not there', await s.wait(run, 'run:nothing'), { outcome: 'unknown' })
    },
  },
  {
    id: 'tokens.await/twice-is-one-wait',
    law: 'A run that awaits a token twice has one wait.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('t')
      await s.wait(run, 't')
      like('the second answer', await s.wait(run, 't'), { outcome: 'registered' })
      await s.settle('t')
      same('waits handed over', namesOf((await s.tick()).ready), [`t r ${A}`])
    },
  },
  {
    id: 'tokens.await/end-of-a-run',
    law: 'The end of a run is awaited as the token run:<id>: registered while the run lives, settled once it has ended.',
    async check(s) {
      const parent = await s.start('parent')
      const child = await s.start('child')
      like('while it lives', await s.wait(parent, 'run:child'), {
        outcome: 'registered',
        token: { id: 'run:child', kind: 'RUN', status: 'WAITING' },
      })
      await s.update(child, { status: 'FAILED' }, 7)
      like('once it is over', await s.wait(parent, 'run:child', 8), {
        outcome: 'settled',
        settledNow: false,
        token: { id: 'run:child', kind: 'RUN', status: 'COMPLETED', completedAt: s.at(7) },
      })
    },
  },
]
