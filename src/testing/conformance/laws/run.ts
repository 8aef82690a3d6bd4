import type { Awaitable, RunsAmong, RunUpdated } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { A, B, idsOf, namesOf } from '../subject.ts'

/** Laws of runs that continue, park, resume and end. */
export const runLaws: readonly Law[] = [
  {
    id: 'runs.get/among',
    law: 'With tasks and tags named, a run of another task with other tags is answered like an unknown run; `any` names each tag.',
    async check(s) {
      await s.insertRun('r', { taskId: 'task', tags: ['a', 'b'] })
      const run = await s.storage.runs.get('r')
      await s.insertRun('untagged', { taskId: 'task', tags: [] })
      const get = (id: string, taskIds: readonly string[], tags: RunsAmong['tags']): Awaitable<unknown> =>
        s.storage.runs.get(id, { taskIds, tags })
      same('its task is named', await get('r', ['other', 'task'], []), run)
      same('a tag of it is named', await get('r', ['other'], ['c', 'b']), run)
      same('both are named', await get('r', ['task'], ['a']), run)
      same('neither is named', await get('r', ['other', 'a'], ['c', 'task']), undefined)
      same('nothing is named', await get('r', [], []), undefined)
      same('a run without tags', await get('untagged', [], ['a', '']), undefined)
      same('an unknown run', await get('unknown', ['task'], ['a']), undefined)
      same('any tag is named', await get('r', [], 'any'), run)
      same('a run without any', await get('untagged', ['other'], 'any'), undefined)
      like('one of a task that is named', await get('untagged', ['task'], 'any'), { id: 'untagged' })
      await s.insertRun('x', { tags: ['x'] })
      like('any tag is named, of one with one tag', await get('x', [], 'any'), { id: 'x' })
      await s.storage.runs.update({
        id: 'r',
        expected: { status: ['QUEUED'] },
        change: { tags: ['c'] },
        by: A,
        now: s.at(1),
      })
      same('a tag that it had', await get('r', [], ['a']), undefined)
      like('a tag that it has now', await get('r', [], ['c']), { id: 'r' })
    },
  },
  {
    id: 'runs.update/applies-as-expected-only',
    law: 'An update applies while status and epoch match; otherwise nothing happens: undefined.',
    async check(s) {
      const run = await s.start('r')
      const change = { metadataJson: '1' }
      const update = async (status: 'EXECUTING' | 'QUEUED', epoch: number): Promise<unknown> =>
        s.storage.runs.update({ id: 'r', expected: { status: [status], epoch }, change, by: A, now: s.at(1) })
      same('another status', await update('QUEUED', run.epoch), undefined)
      same('another epoch', await update('EXECUTING', run.epoch - 1), undefined)
      same('the record', await s.storage.runs.get('r'), run)
      like('as expected', await update('EXECUTING', run.epoch), { record: change, ready: [] })
      same('an unknown run', await s.update({ id: 'nobody' }, change), undefined)
    },
  },
  {
    id: 'runs.update/epochs-are-not-attempts',
    law: 'What an attempt writes goes by its epoch, and not by its number, also when they differ.',
    async check(s) {
      await s.insertRun('r', { epoch: 7 })
      await s.insertRun('expires', { epoch: 7, taskId: 'other', expiresAt: s.at(5) })
      const [run] = (await s.claim()).runs
      like('the claim', run, { id: 'r', epoch: 8, attempt: 1 })
      if (run === undefined) return
      same('a muster', (await s.claim({ limit: 0 })).runs, [run])
      like('what expired', (await s.tick(A, 5)).expired, [{ record: { id: 'expires', status: 'EXPIRED' } }])
      const expected = { status: ['EXECUTING'], epoch: 8 } as const
      const update = { id: 'r', expected, change: { metadataJson: '1' }, by: A, now: s.at(0) }
      like('an update', await s.storage.runs.update(update), { record: { metadataJson: '1' } })
      await s.insertToken('t')
      like('a wait', await s.wait(run, 't'), { outcome: 'registered' })
      const opened = { runId: 'r', key: 'k', epoch: 8, by: A }
      const history = { chunks: 9, bytes: 9_000 }
      like('a stream', await s.storage.chunks.open({ ...opened, attempt: 1, now: s.at(0) }), { next: 0 })
      same(
        'an append',
        await s.storage.chunks.append({ ...opened, first: 0, chunks: [], history }),
        'appended',
      )
      like('a park', await s.storage.runs.park(s.fenceOf(run)), { status: 'WAITING' })
      like('a completion', await s.settle('t', 0, { fence: { runId: 'r', epoch: 8 } }), { won: true })
      like('a resume', await s.storage.runs.resume(s.fenceOf(run)), { outcome: 'resumed' })
      const byAttempt = { ...s.fenceOf(run), epoch: 1 }
      same('a park by the number of its attempt', await s.storage.runs.park(byAttempt), undefined)
    },
  },
  {
    id: 'runs.update/changes-and-clears',
    law: 'A change replaces the fields it names, also with undefined, and keeps the others.',
    async check(s) {
      const run = await s.start('r', { tags: ['old'], metadataJson: '{}' })
      const updated = await s.update(run, { tags: ['new'], metadataJson: undefined }, 3)
      same('the record', updated?.record, {
        ...run,
        tags: ['new'],
        metadataJson: undefined,
        updatedAt: s.at(3),
      })
    },
  },
  {
    id: 'runs.update/final-settles-its-token',
    law: 'Reaching a final status makes all waits for the run ready, in the same step, and answers them.',
    async check(s) {
      const parent = await s.start('parent')
      const child = await s.start('child')
      await s.wait(parent, 'run:child')
      const updated = await s.update(child, { status: 'FAILED', errorJson: '{}' }, 7)
      like('the record', updated?.record, {
        status: 'FAILED',
        errorJson: '{}',
        finishedAt: s.at(7),
        owner: undefined,
        slot: false,
      })
      same('the waits answered', namesOf(updated?.ready ?? []), [`run:child parent ${A}`])
      same('waits handed over', namesOf((await s.tick()).ready), [`run:child parent ${A}`])
    },
  },
  {
    id: 'runs.update/final-drops-its-waits',
    law: 'A run that has ended has no waits.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('open')
      await s.insertToken('ready')
      await s.wait(run, 'open')
      await s.wait(run, 'ready')
      await s.settle('ready')
      await s.update(run, { status: 'COMPLETED' })
      same('what it waits for', idsOf(await s.storage.runs.waits('r')), [])
      same('waits handed over', namesOf((await s.tick()).ready), [])
      like('waits of a completion', await s.settle('open'), { ready: [] })
    },
  },
  {
    id: 'runs.update/final-stays-final',
    law: 'A final status never changes.',
    async check(s) {
      const run = await s.start('r')
      await s.update(run, { status: 'COMPLETED', outputJson: '1' }, 1)
      const request = {
        id: 'r',
        expected: { status: ['COMPLETED'] },
        change: { status: 'QUEUED' },
        by: A,
        now: s.at(2),
      } as const
      same('a later update', await s.storage.runs.update(request), undefined)
      like('the record', await s.storage.runs.get('r'), { status: 'COMPLETED', finishedAt: s.at(1) })
    },
  },
  {
    id: 'runs.update/end-of-an-attempt',
    law: 'The end that an attempt writes, with all its fields, does what an end does; that of an older attempt changes nothing.',
    async check(s) {
      const parent = await s.start('parent')
      const run = await s.start('r')
      await s.insertToken('open')
      await s.insertToken('ready')
      await s.wait(parent, 'run:r')
      await s.wait(run, 'open')
      await s.wait(run, 'ready')
      await s.settle('ready')
      const end = (epoch: number, at: number): Awaitable<RunUpdated | undefined> =>
        s.storage.runs.update({
          id: 'r',
          expected: { status: ['EXECUTING', 'WAITING'], epoch },
          change: {
            status: 'COMPLETED',
            outputJson: '1',
            errorJson: undefined,
            finishedAt: s.at(at),
            slot: false,
          },
          by: A,
          now: s.at(at + 1),
        })
      same('the end of an older attempt', await end(run.epoch - 1, 5), undefined)
      same('the record', await s.storage.runs.get('r'), run)
      const ended = await end(run.epoch, 7)
      same('the record', ended?.record, {
        ...run,
        status: 'COMPLETED',
        outputJson: '1',
        owner: undefined,
        slot: false,
        finishedAt: s.at(7),
        updatedAt: s.at(8),
      })
      same('the waits answered', namesOf(ended?.ready ?? []), [`run:r parent ${A}`])
      same('what it waits for', idsOf(await s.storage.runs.waits('r')), [])
      same('a second end', await end(run.epoch, 9), undefined)
      same('the record in storage', await s.storage.runs.get('r'), ended?.record)
    },
  },
  {
    id: 'runs.update/retry-gives-everything-up',
    law: 'A run that is put back (DELAYED or QUEUED) has no owner, no slot and no waits.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('t')
      await s.wait(run, 't')
      const updated = await s.update(run, { status: 'DELAYED', wakeAt: s.at(50) }, 1)
      like('the record', updated?.record, {
        status: 'DELAYED',
        owner: undefined,
        slot: false,
        wakeAt: s.at(50),
      })
      same('what it waits for', idsOf(await s.storage.runs.waits('r')), [])
    },
  },
  {
    id: 'runs.update/moves-the-expiry',
    law: 'An update of a DELAYED run may move its expiresAt together with its wakeAt; it is EXPIRED then, and not before.',
    async check(s) {
      for (const [id, wakeAt, expiresAt] of [
        ['sooner', 20, 30],
        ['later', 70, 80],
      ] as const) {
        await s.insertRun(id, { status: 'DELAYED', wakeAt: s.at(50), expiresAt: s.at(60) })
        const change = { status: 'DELAYED', wakeAt: s.at(wakeAt), expiresAt: s.at(expiresAt) } as const
        like(id, (await s.update({ id }, change, 1))?.record, change)
        like('as it is stored', await s.storage.runs.get(id), change)
        same('what expired before', (await s.tick(A, expiresAt - 1)).expired, [])
        like('what expired', (await s.tick(A, expiresAt)).expired, [
          { record: { id, status: 'EXPIRED', finishedAt: s.at(expiresAt) } },
        ])
      }
    },
  },
  {
    id: 'runs.update/hands-back',
    law: 'A run that is handed back has no owner and no slot. It is claimed before queued runs: attempt + 1, not as interrupted.',
    async check(s) {
      const queueLimits = new Map([['queue', 1]])
      const run = await s.start('r')
      await s.insertToken('t')
      await s.wait(run, 't')
      await s.insertRun('next', {}, 1)
      const updated = await s.update(run, { status: 'EXECUTING', owner: undefined }, 2)
      same('what it waits for', idsOf(await s.storage.runs.waits('r')), ['t'])
      const free = { ...run, owner: undefined, slot: false, updatedAt: s.at(2) }
      same('the record', updated?.record, free)
      same('the run', await s.storage.runs.get('r'), free)
      same('a park by its attempt', await s.storage.runs.park(s.fenceOf(run, 3)), undefined)
      const { runs, ended } = await s.claim({ by: A, queueLimits, maxInterruptions: 0, now: 5 })
      same('what ended', ended, [])
      same('what is claimed', runs, [{ ...run, attempt: 2, epoch: run.epoch + 1, updatedAt: s.at(5) }])
    },
  },
  {
    id: 'runs.update/hands-back-a-parked-run',
    law: 'A parked run that is handed back as EXECUTING is claimed at once.',
    async check(s) {
      const run = await s.startParked('r', 't')
      await s.update(run, { status: 'EXECUTING', owner: undefined }, 2)
      const { runs } = await s.claim({ now: 3 })
      like('what is claimed', runs, [
        { id: 'r', status: 'EXECUTING', attempt: 2, interruptions: 0, slot: true },
      ])
    },
  },
  {
    id: 'runs.update/canceled-run-keeps-its-slot',
    law: 'A canceled run with slotUntil keeps its slot until it gives the slot back.',
    async check(s) {
      const queueLimits = new Map([['queue', 1]])
      const run = await s.start('r')
      await s.insertRun('next')
      const change = { status: 'CANCELED', epoch: run.epoch + 1, slot: true, slotUntil: s.at(500) } as const
      await s.update(run, change)
      same('a claim while it has it', idsOf((await s.claim({ queueLimits })).runs), [])
      await s.update(run, { metadataJson: '1' }, 1)
      like('after a change', await s.storage.runs.get('r'), {
        slot: true,
        slotUntil: s.at(500),
        status: 'CANCELED',
      })
      await s.update(run, { slotUntil: s.at(600) }, 2)
      like('when it is to keep it longer', await s.storage.runs.get('r'), {
        slot: true,
        slotUntil: s.at(600),
      })
      await s.tick(A, 599)
      same('a claim before that', idsOf((await s.claim({ queueLimits, now: 599 })).runs), [])
      await s.update(run, { slot: false }, 599)
      like('after it gave the slot back', await s.storage.runs.get('r'), {
        slot: false,
        slotUntil: undefined,
      })
      await s.update(run, { slot: true }, 599)
      same('a claim after that', idsOf((await s.claim({ queueLimits, now: 599 })).runs), ['next'])
      const next = (await s.storage.runs.get('next')) ?? run
      await s.update(next, { status: 'CANCELED', slot: true }, 600)
      await s.insertRun('last')
      await s.tick(A, 100_000)
      same('without slotUntil', idsOf((await s.claim({ queueLimits, now: 100_000 })).runs), [])
    },
  },
  {
    id: 'runs.update/slot-of-a-canceled-run-ends',
    law: 'A canceled run loses its slot at slotUntil at the latest.',
    async check(s) {
      const queueLimits = new Map([['queue', 1]])
      const run = await s.start('r')
      await s.insertRun('next')
      await s.update(run, { status: 'CANCELED', slot: true, slotUntil: s.at(500) })
      same('a claim at slotUntil', idsOf((await s.claim({ queueLimits, now: 500 })).runs), ['next'])
    },
  },
  {
    id: 'runs.park/gives-the-slot-back',
    law: 'A parked run is WAITING, has no slot, and its interruptions are reset.',
    async check(s) {
      await s.tick(B, 0, { leaseUntil: s.at(100) })
      await s.start('r', {}, B)
      const [run] = (await s.claim({ now: 100 })).runs
      like('the run before', run, { interruptions: 1, slot: true })
      if (run === undefined) return
      like('the park', await s.storage.runs.park(s.fenceOf(run, 101)), {
        id: 'r',
        status: 'WAITING',
        owner: A,
        epoch: run.epoch,
        slot: false,
        interruptions: 0,
        updatedAt: s.at(101),
      })
    },
  },
  {
    id: 'runs.park/stale',
    law: 'A park of another attempt or owner, or of a run that does not execute, has no effect: undefined.',
    async check(s) {
      const run = await s.start('r')
      const { runs } = s.storage
      const fence = s.fenceOf(run)
      same('an earlier epoch', await runs.park({ ...fence, epoch: run.epoch - 1 }), undefined)
      same('another owner', await runs.park({ ...fence, by: B }), undefined)
      same('one that is not the next', await runs.park({ ...fence, parks: 2 }), undefined)
      same('the run', await runs.get('r'), run)
    },
  },
  {
    id: 'runs.park/numbers',
    law: 'A run has parked as often as its last park says, also after a claim.',
    async check(s) {
      const parked = await s.startParked('r', 't')
      like('the first', parked, { parks: 1 })
      await s.update(parked, { status: 'DELAYED', wakeAt: s.at(6) })
      const [claimed] = (await s.claim({ now: 6 })).runs
      like('the claim', claimed, { id: 'r', epoch: parked.epoch + 1, parks: 1 })
      if (claimed === undefined) return
      like('the second', await s.storage.runs.park(s.fenceOf(claimed, 7)), { status: 'WAITING', parks: 2 })
    },
  },
  {
    id: 'runs.park/repeated',
    law: 'A park that is repeated while the run waits in it changes nothing, and answers the run as it is.',
    async check(s) {
      const parked = await s.startParked('r', 't')
      const repeated = await s.storage.runs.park(s.fenceOf(parked, 9))
      same('the answer', repeated, parked)
      same('the run', await s.storage.runs.get('r'), parked)
    },
  },
  {
    id: 'runs.park/late',
    law: 'A park that arrives once the run has gone on from it, or has parked again, has no effect: undefined.',
    async check(s) {
      const { runs } = s.storage
      const first = await s.startParked('r', 't')
      const late = s.fenceOf(first)
      await runs.resume(late)
      same('once the run has gone on', await runs.park(late), undefined)
      like('the run', await runs.get('r'), { status: 'EXECUTING', slot: true, parks: 1 })
      await runs.park({ ...late, parks: 2 })
      same('in its next park', await runs.park(late), undefined)
      like('the next resume', await runs.resume({ ...late, parks: 2 }), { outcome: 'resumed' })
    },
  },
  {
    id: 'runs.resume/takes-a-slot',
    law: 'A resumed run is EXECUTING and takes a slot.',
    async check(s) {
      const run = await s.startParked('r', 't')
      const resumed = await s.storage.runs.resume({ ...s.fenceOf(run, 3), queueLimit: 1 })
      same('the answer', resumed, {
        outcome: 'resumed',
        record: { ...run, status: 'EXECUTING', slot: true, updatedAt: s.at(3) },
      })
    },
  },
  {
    id: 'runs.resume/full',
    law: 'A run is not resumed while its queue has no free slot: full.',
    async check(s) {
      const run = await s.startParked('r', 't')
      const other = await s.start('other')
      const request = { ...s.fenceOf(run), queueLimit: 1 }
      same('while it is full', await s.storage.runs.resume(request), { outcome: 'full' })
      await s.update(other, { status: 'COMPLETED' })
      like('when there is a slot', await s.storage.runs.resume(request), { outcome: 'resumed' })
    },
  },
  {
    id: 'runs.resume/refused-runs-go-first',
    law: 'Until a refused run gets its slot, no queued run of its queue is claimed before it.',
    async check(s) {
      const queueLimits = new Map([['queue', 1]])
      const run = await s.startParked('r', 't')
      const other = await s.start('other')
      await s.insertRun('queued')
      const request = { ...s.fenceOf(run), queueLimit: 1 }
      await s.storage.runs.resume(request)
      await s.update(other, { status: 'COMPLETED' })
      same('a claim', idsOf((await s.claim({ queueLimits })).runs), [])
      await s.update(run, { metadataJson: '1' })
      same('a claim after a change of the run', idsOf((await s.claim({ queueLimits })).runs), [])
      like('the resume', await s.storage.runs.resume(request), { outcome: 'resumed' })
      const wider = new Map([['queue', 2]])
      same('a claim after that', idsOf((await s.claim({ queueLimits: wider })).runs), ['queued'])
    },
  },
  {
    id: 'runs.resume/says-what-is-settled',
    law: 'A hinted resume answers the settled tokens of the run, each as it is, or leaves all of them to a tick.',
    optional: '`tokens` of what `runs.resume` answers',
    async check(s) {
      const run = await s.startParked('r', 't')
      const other = await s.start('other')
      await s.insertToken('open')
      await s.wait(run, 'open')
      await s.wait(run, 'run:other')
      await s.settle('t', 1)
      await s.update(other, { status: 'COMPLETED' })
      const resumed = await s.storage.runs.resume({ ...s.fenceOf(run, 2), isHinted: true })
      like('the answer', resumed, { outcome: 'resumed' })
      if (resumed.outcome !== 'resumed' || resumed.tokens === undefined) return
      const token = await s.storage.tokens.get('t', s.at(2))
      const end = await s.storage.tokens.get('run:other', s.at(2))
      same('its tokens', resumed.tokens, [token?.record, end?.record])
    },
  },
  {
    id: 'runs.resume/stale',
    law: 'A resume of another attempt or owner, or of a run that is not parked, has no effect: stale.',
    async check(s) {
      const run = await s.startParked('r', 't')
      const { runs } = s.storage
      const fence = s.fenceOf(run)
      same('an earlier epoch', await runs.resume({ ...fence, epoch: run.epoch - 1 }), { outcome: 'stale' })
      same('another owner', await runs.resume({ ...fence, by: B }), { outcome: 'stale' })
      same('the next park', await runs.resume({ ...fence, parks: 2 }), { outcome: 'stale' })
      same('the run', await runs.get('r'), run)
      const executing = await s.start('executing')
      same('one that never parked', await runs.resume(s.fenceOf(executing)), { outcome: 'stale' })
    },
  },
  {
    id: 'runs.resume/repeated',
    law: 'A resume that is repeated while the run executes since that park changes nothing, and answers the run as it is, whatever the limit.',
    async check(s) {
      const run = await s.startParked('r', 't')
      const first = await s.storage.runs.resume({ ...s.fenceOf(run, 3), queueLimit: 1 })
      same('the answer', await s.storage.runs.resume({ ...s.fenceOf(run, 9), queueLimit: 1 }), first)
      like('the run', await s.storage.runs.get('r'), { status: 'EXECUTING', slot: true, updatedAt: s.at(3) })
    },
  },
  {
    id: 'runs.resume/late',
    law: 'A resume that arrives once the run has parked again has no effect: stale.',
    async check(s) {
      const { runs } = s.storage
      const late = s.fenceOf(await s.startParked('r', 't'))
      await runs.resume(late)
      const again = await runs.park({ ...late, parks: 2 })
      same('the answer', await runs.resume(late), { outcome: 'stale' })
      same('with a limit', await runs.resume({ ...late, queueLimit: 1 }), { outcome: 'stale' })
      same('the run', await runs.get('r'), again)
    },
  },
]
