import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import type { RunRecord } from '../../../contract/records.ts'
import { A, B, idsOf, namesOf, type Subject } from '../subject.ts'

/** Laws of one token: reading, awaiting, settling and releasing it. */
export const tokenLaws: readonly Law[] = [
  {
    id: 'tokens.get/times-out-at-the-deadline',
    law: 'A read at timeoutAt or later settles the token as TIMED_OUT, completed at timeoutAt, before it answers.',
    async check(s) {
      await s.insertToken('t', { timeoutAt: s.at(100) })
      like('a read before', await s.storage.tokens.get('t', s.at(99)), {
        record: { status: 'WAITING', completedAt: undefined },
        settledNow: false,
      })
      like('a read at the deadline', await s.storage.tokens.get('t', s.at(100)), {
        record: { status: 'TIMED_OUT', completedAt: s.at(100) },
        settledNow: true,
      })
    },
  },
  {
    id: 'tokens.get/sleep-completes-at-its-deadline',
    law: 'The deadline of a SLEEP makes it COMPLETED.',
    async check(s) {
      await s.insertToken('t', { kind: 'SLEEP', timeoutAt: s.at(100) })
      like('a read after', (await s.storage.tokens.get('t', s.at(150)))?.record, {
        status: 'COMPLETED',
        completedAt: s.at(100),
      })
    },
  },
  {
    id: 'tokens.get/settled-now-once',
    law: 'Of all calls and ticks that meet a token past its deadline, exactly one reports that it settled the token.',
    async check(s) {
      await s.insertToken('t', { timeoutAt: s.at(100) })
      await s.storage.tokens.get('t', s.at(100))
      like('a second read', await s.storage.tokens.get('t', s.at(101)), { settledNow: false })
      same('tokens settled by a later tick', idsOf((await s.tick(A, 102)).settled), [])
    },
  },
  {
    id: 'tokens.get/writes-what-it-answers',
    law: 'A read that settles a token writes it and makes its waits ready, in one step.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('t', { timeoutAt: s.at(100) })
      await s.wait(run, 't')
      await s.storage.tokens.get('t', s.at(100))
      same('what the run still waits for', idsOf(await s.storage.runs.waits('r')), [])
      same('waits handed over by the next tick', namesOf((await s.tick(A, 100)).ready), [`t r ${A}`])
    },
  },
  {
    id: 'tokens.settle/wins-before-the-deadline',
    law: 'A completion wins while the token is WAITING and now is before timeoutAt.',
    async check(s) {
      await s.insertToken('t', { timeoutAt: s.at(100), tags: ['x'] })
      like('the completion', await s.settle('t', 99, { outputJson: '{"a":1}' }), {
        won: true,
        settledNow: true,
        ready: [],
        record: { id: 't', status: 'COMPLETED', outputJson: '{"a":1}', completedAt: s.at(99), tags: ['x'] },
      })
      like('a read', await s.storage.tokens.get('t', s.at(99)), {
        record: { status: 'COMPLETED', outputJson: '{"a":1}', completedAt: s.at(99) },
        settledNow: false,
      })
    },
  },
  {
    id: 'tokens.settle/times-out-early',
    law: 'Of a storage that timesOut, such a settle wins before the deadline, makes now the deadline, and the token TIMED_OUT.',
    optional: '`timesOut`',
    async check(s) {
      if (s.storage.timesOut !== true) return
      const run = await s.start('r')
      await s.insertToken('t', { timeoutAt: s.at(100) })
      await s.wait(run, 't')
      const ended = { status: 'TIMED_OUT', timeoutAt: s.at(40), completedAt: s.at(40), outputJson: undefined }
      like('the settle', await s.settle('t', 40, { isTimeOut: true }), {
        won: true,
        settledNow: true,
        ready: [{ tokenId: 't', runId: 'r', owner: A }],
        record: ended,
      })
      like('a read', await s.storage.tokens.get('t', s.at(41)), { record: ended, settledNow: false })
      like('a completion', await s.settle('t', 41), { won: false, settledNow: false, record: ended })
      await s.insertToken('late', { timeoutAt: s.at(50) })
      like('one that comes late', await s.settle('late', 60, { isTimeOut: true }), {
        won: false,
        record: { status: 'TIMED_OUT', timeoutAt: s.at(50), completedAt: s.at(50) },
      })
    },
  },
  {
    id: 'tokens.settle/late-completion-times-out',
    law: 'A completion at timeoutAt or later makes the token TIMED_OUT and loses.',
    async check(s) {
      await s.insertToken('t', { timeoutAt: s.at(100) })
      like('the completion', await s.settle('t', 100), {
        won: false,
        settledNow: true,
        record: { status: 'TIMED_OUT', outputJson: undefined, completedAt: s.at(100) },
      })
    },
  },
  {
    id: 'tokens.settle/settled-never-changes',
    law: 'A settled token never changes again: a later completion loses and answers the stored record.',
    async check(s) {
      await s.insertToken('t')
      await s.settle('t', 5, { outputJson: '"first"' })
      const record = { status: 'COMPLETED', outputJson: '"first"', completedAt: s.at(5) }
      like('a second completion', await s.settle('t', 6, { outputJson: '"second"' }), {
        won: false,
        settledNow: false,
        ready: [],
        record,
      })
      like('a read', (await s.storage.tokens.get('t', s.at(7)))?.record, record)
    },
  },
  {
    id: 'tokens.settle/makes-all-waits-ready',
    law: 'All waits for a token become ready in the step that settles it: answered, and handed to their owners.',
    async check(s) {
      await s.tick(B)
      const one = await s.start('one')
      const two = await s.start('two', {}, B)
      await s.insertToken('t')
      await s.wait(one, 't')
      await s.wait(two, 't')
      const settled = await s.settle('t', 1)
      const ready = settled === 'stale' || settled === undefined ? [] : settled.ready
      same('the waits answered', namesOf(ready), [`t one ${A}`, `t two ${B}`])
      same('handed to the first owner', namesOf((await s.tick(A, 1)).ready), [`t one ${A}`])
      same('handed to the second owner', namesOf((await s.tick(B, 1)).ready), [`t two ${B}`])
    },
  },
  {
    id: 'tokens.settle/unknown',
    law: 'An unknown token, such as the end of a run, cannot be completed: undefined.',
    async check(s) {
      await s.start('r')
      same('an unknown id', await s.settle('nothing'), undefined)
      same('the token of a run', await s.settle('run:r'), undefined)
    },
  },
  {
    id: 'tokens.settle/stale-fence',
    law: 'An attempt that no longer holds its run completes nothing: stale, whether the token exists or not.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('t')
      const fence = { runId: 'r', epoch: run.epoch }
      same('an earlier epoch', await s.settle('t', 0, { fence: { ...fence, epoch: run.epoch - 1 } }), 'stale')
      same('another owner', await s.settle('t', 0, { fence, by: B }), 'stale')
      await s.insertToken('t2')
      like('the right fence', await s.settle('t2', 0, { fence }), { won: true })
      await s.update(run, { status: 'CANCELED' })
      same('a run that is over', await s.settle('t', 0, { fence }), 'stale')
      same('an unknown token', await s.settle('nothing', 0, { fence }), 'stale')
      like('the token', (await s.storage.tokens.get('t', s.at(0)))?.record, { status: 'WAITING' })
    },
  },
  {
    id: 'tokens.settle/stale-leaves-the-deadline',
    law: 'A stale completion leaves a token past its deadline as it is, for the next read to settle.',
    async check(s) {
      await s.insertToken('t', { timeoutAt: s.at(10) })
      same('a stale completion', await s.settle('t', 20, { fence: { runId: 'none', epoch: 1 } }), 'stale')
      like('the next read', await s.storage.tokens.get('t', s.at(20)), { settledNow: true })
    },
  },
  {
    id: 'tokens.settle/resumes-the-run-that-waits',
    law: 'Of a storage that resumesWaiting, a settle with `resume` resumes the parked run whose wait it makes ready, and answers it.',
    optional: '`resumesWaiting`',
    async check(s) {
      if (s.storage.resumesWaiting !== true) return
      const parked = await s.startParked('r', 't')
      const { id, epoch, parks = 0 } = parked
      const settled = await s.settle('t', 5, { resume: { runId: id, epoch, parks } })
      like('the completion', settled, { won: true, settledNow: true, ready: [{ tokenId: 't', runId: id }] })
      const resumed = { ...parked, status: 'EXECUTING' as const, slot: true, updatedAt: s.at(5) }
      same('the run', settled !== 'stale' && settled?.resumed, resumed)
      same('the record', await s.storage.runs.get(id), resumed)
      same('waits handed over', namesOf((await s.tick(A, 5)).ready), [`t r ${A}`])
      same('a resume', await s.storage.runs.resume(s.fenceOf(parked, 6)), {
        outcome: 'resumed',
        record: resumed,
      })
      like('a park', await s.storage.runs.park(s.fenceOf(resumed, 7)), { status: 'WAITING', slot: false })
      same('a second completion', await isResumed(s, 't', { run: parked }), false)
    },
  },
  {
    id: 'tokens.settle/resumes-no-other-run',
    law: 'Of a storage that resumesWaiting, a settle resumes no run that does not wait for the token, or is not in this park, epoch and owner.',
    optional: '`resumesWaiting`',
    async check(s) {
      if (s.storage.resumesWaiting !== true) return
      const parked = await s.startParked('r', 'own')
      for (const id of ['strange', 'old', 'late', 'foreign']) await s.insertToken(id)
      same('a token of others', await isResumed(s, 'strange', { run: parked }), false)
      for (const id of ['old', 'late', 'foreign']) await s.wait(parked, id)
      same('another epoch', await isResumed(s, 'old', { run: { ...parked, epoch: parked.epoch - 1 } }), false)
      same('an earlier park', await isResumed(s, 'late', { run: { ...parked, parks: 0 } }), false)
      await s.tick(B)
      same('another owner', await isResumed(s, 'foreign', { run: parked, by: B }), false)
      same('the record', await s.storage.runs.get('r'), parked)
      const executing = await s.start('executing')
      await s.insertToken('t')
      await s.wait(executing, 't')
      same('a run that executes', await isResumed(s, 't', { run: executing }), false)
      await s.update(parked, { status: 'CANCELED' })
      same('a run that is over', await isResumed(s, 'own', { run: parked }), false)
    },
  },
  {
    id: 'tokens.settle/resumes-nothing-beyond-its-queue',
    law: 'Of a storage that resumesWaiting and has queues, a settle resumes no run of a queue that is paused or full.',
    optional: '`resumesWaiting`',
    async check(s) {
      const { queues, resumesWaiting = false } = s.storage
      if (queues === undefined || !resumesWaiting) return
      const parked = await s.startParked('r', 't')
      const other = await s.startParked('other', 'u')
      await s.start('executing')
      const { queue } = parked
      await queues.set({ name: queue, isPaused: true, now: s.at(0), by: B })
      same('while it is paused', await isResumed(s, 't', { run: parked }), false)
      await queues.set({ name: queue, isPaused: false, limit: 1, now: s.at(0), by: B })
      same('while it is full', await isResumed(s, 'u', { run: other }), false)
      like('the record', await s.storage.runs.get('r'), { status: 'WAITING', slot: false })
    },
  },
  {
    id: 'tokens.release/drops-waits',
    law: 'A released wait is gone, ready or not.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('open')
      await s.insertToken('ready')
      await s.wait(run, 'open')
      await s.wait(run, 'ready')
      await s.settle('ready')
      await s.storage.tokens.release([
        { tokenId: 'open', runId: 'r', owner: A },
        { tokenId: 'ready', runId: 'r', owner: A },
      ])
      same('what the run waits for', idsOf(await s.storage.runs.waits('r')), [])
      like('waits of a completion', await s.settle('open'), { ready: [] })
      same('waits handed over', namesOf((await s.tick()).ready), [])
      await s.startParked('parked', 't')
      await s.storage.tokens.release([{ tokenId: 't', runId: 'parked', owner: A }])
      same('what a parked run waits for', idsOf(await s.storage.runs.waits('parked')), [])
    },
  },
  {
    id: 'tokens.release/waits-of-others-stay',
    law: 'A release names the owner; the waits of a run under another owner stay.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('t')
      await s.wait(run, 't')
      await s.storage.tokens.release([{ tokenId: 't', runId: 'r', owner: B }])
      same('what the run waits for', idsOf(await s.storage.runs.waits('r')), ['t'])
    },
  },
  {
    id: 'tokens.get/lists-waiters',
    law: 'A get that is asked for waiters, and answers them, lists the runs that wait for the token, by id, at most so many.',
    optional: '`waiters` of what `tokens.get` answers',
    async check(s) {
      await s.insertToken('t')
      same('of an unknown token', await s.storage.tokens.get('unknown', s.at(0), { waiters: 1 }), undefined)
      const listed = async (most: number): Promise<readonly string[] | undefined> =>
        (await s.storage.tokens.get('t', s.at(0), { waiters: most }))?.waiters
      if ((await listed(10)) === undefined) return
      for (const id of ['b', 'a', 'c']) await s.wait(await s.start(id), 't')
      await s.insertToken('other')
      await s.wait(await s.start('aa'), 'other')
      like('the read', await s.storage.tokens.get('t', s.at(0), { waiters: 1 }), {
        record: { id: 't' },
        settledNow: false,
      })
      same('all', await listed(10), ['a', 'b', 'c'])
      same('at most two', await listed(2), ['a', 'b'])
      await s.storage.tokens.release([{ tokenId: 't', runId: 'b', owner: A }])
      same('after one was released', await listed(10), ['a', 'c'])
      await s.settle('t')
      same('after the token was settled', await listed(10), [])
    },
  },
]

interface Resuming {
  readonly run: RunRecord
  readonly by?: string
}

/** Settles a token, and says whether that has resumed the run. */
async function isResumed(
  s: Subject,
  tokenId: string,
  { run: { id, epoch, parks = 0 }, by = A }: Resuming,
): Promise<boolean> {
  const settled = await s.settle(tokenId, 0, { by, resume: { runId: id, epoch, parks } })
  return settled !== 'stale' && settled?.resumed !== undefined
}
