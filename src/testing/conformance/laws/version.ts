import type { RunRecord } from '../../../contract/records.ts'
import type { RunUpdated } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, Mismatch, same } from '../sameness.ts'
import { A, B, idsOf, namesOf, type Subject } from '../subject.ts'

const V1: ReadonlyMap<string, string> = new Map([['task', '1']])
const V2: ReadonlyMap<string, string> = new Map([['task', '2']])

/** Lets a run stand still. */
async function setAside(
  s: Subject,
  { id }: { readonly id: string },
  now = 0,
): Promise<RunUpdated | undefined> {
  const change = { status: 'PENDING_VERSION' } as const
  const expected = { status: ['EXECUTING', 'WAITING'] } as const
  return s.storage.runs.update({ id, expected, change, by: A, now: s.at(now) })
}

/** Lets it go on. */
async function goOn(s: Subject, { id }: { readonly id: string }, now = 0): Promise<RunUpdated | undefined> {
  const expected = { status: ['PENDING_VERSION'] } as const
  return s.storage.runs.update({ id, expected, change: { status: 'EXECUTING' }, by: A, now: s.at(now) })
}

async function versionsOf(s: Subject, ...claims: Parameters<Subject['claim']>): Promise<unknown> {
  return (await s.claim(...claims)).runs.map(({ id, version }) => [id, version])
}

/** A run that code of version 1 executes. */
async function startOfV1(s: Subject): Promise<RunRecord> {
  await s.insertRun('r')
  const { runs } = await s.claim({ versions: V1 })
  const [run] = runs
  if (run === undefined) throw new Mismatch('the claim of run "r"', { expected: 'the run', seen: runs })
  return run
}

/** A run that waits for token `t` and stands still. */
async function standingStill(s: Subject, fields: Partial<RunRecord> = {}): Promise<RunRecord> {
  const run = await s.start('r', fields)
  await s.insertToken('t', { runId: 'r', key: { scope: 'r', value: '1' } })
  await s.wait(run, 't')
  await setAside(s, run, 1)
  return run
}

/** Laws of the versions of runs, and of runs that stand still until code of a fitting version comes. */
export const versionLaws: readonly Law[] = [
  {
    id: 'runs.claim/version-of-a-planned-attempt',
    law: 'A run that is claimed as planned has the version of its task that the claim names, or none.',
    async check(s) {
      await s.insertRun('a')
      await s.insertRun('b', { taskId: 'other', version: 'of the insert' }, 1)
      const taskIds = ['task', 'other']
      same('the first claim', await versionsOf(s, { taskIds, versions: V1, now: 2 }), [
        ['a', '1'],
        ['b', undefined],
      ])
      same('the record', (await s.storage.runs.get('a'))?.version, '1')
      await s.update({ id: 'a' }, { status: 'DELAYED', wakeAt: s.at(5) }, 3)
      await s.update({ id: 'b' }, { status: 'QUEUED' }, 3)
      same('the next attempts', await versionsOf(s, { taskIds, versions: V2, now: 6 }), [
        ['b', undefined],
        ['a', '2'],
      ])
      await s.update({ id: 'a' }, { status: 'QUEUED' }, 7)
      same('a claim without versions', await versionsOf(s, { now: 8 }), [['a', undefined]])
    },
  },
  {
    id: 'runs.claim/version-is-kept',
    law: 'A run that goes on after an interruption or a wait keeps its version.',
    async check(s) {
      await s.tick(B)
      await s.insertRun('interrupted')
      await s.insertRun('parked', {}, 1)
      const { runs } = await s.claim({ by: B, versions: V1, now: 1 })
      const parked = runs[1]
      if (parked !== undefined) {
        await s.insertToken('t', {}, 1)
        await s.wait(parked, 't', 1)
        await s.storage.runs.park(s.fenceOf(parked, 1))
      }
      await s.settle('t', 2)
      await s.leave(B, 3)
      same('the versions', await versionsOf(s, { versions: V2, now: 4 }), [
        ['interrupted', '1'],
        ['parked', '1'],
      ])
    },
  },
  {
    id: 'runs.update/changes-the-version',
    law: 'An update may replace the version of a run, and leaves it otherwise.',
    async check(s) {
      await s.insertRun('r')
      await s.claim({ versions: V1 })
      like('the update', await s.update({ id: 'r' }, { version: '2' }), { record: { version: '2' } })
      await s.update({ id: 'r' }, { metadataJson: '{}' })
      same('the record', (await s.storage.runs.get('r'))?.version, '2')
    },
  },
  {
    id: 'runs.update/pending-version-gives-everything-up',
    law: 'A run that becomes PENDING_VERSION has no owner, no slot and no waits; the epoch stays, the version too.',
    async check(s) {
      const queueLimits = new Map([['queue', 1]])
      const run = await startOfV1(s)
      await s.insertToken('t')
      await s.wait(run, 't')
      await s.insertRun('next')
      same('a claim before', idsOf((await s.claim({ queueLimits })).runs), [])
      same('the record', (await setAside(s, run, 1))?.record, {
        ...run,
        status: 'PENDING_VERSION',
        owner: undefined,
        slot: false,
        updatedAt: s.at(1),
      })
      same('what it waits for', idsOf(await s.storage.runs.waits('r')), [])
      same('a claim after', idsOf((await s.claim({ queueLimits })).runs), ['next'])
      same('a park by its attempt', await s.storage.runs.park(s.fenceOf(run, 2)), undefined)
    },
  },
  {
    id: 'runs.claim/pending-version-stands-still',
    law: 'A PENDING_VERSION run is not claimed, nor does it expire; lists by its status have it.',
    async check(s) {
      const run = await standingStill(s, { expiresAt: s.at(50) })
      await s.settle('t', 2)
      same('a claim', await s.claim({ now: 60 }), { runs: [], ended: [] })
      like('a tick', await s.tick(A, 70), { claimable: false, ready: [], expired: [] })
      same('the record', (await s.storage.runs.get('r'))?.status, 'PENDING_VERSION')
      const listed = async (status: RunRecord['status']): Promise<string[]> =>
        idsOf((await s.storage.runs.list({ status: [status] }, { limit: 5 })).records)
      same('a list by its status', await listed('PENDING_VERSION'), [run.id])
      same('a list by another', await listed('EXECUTING'), [])
    },
  },
  {
    id: 'tokens.settle/pending-version-takes-answers',
    law: 'What a PENDING_VERSION run has asked for is answered and kept as ever.',
    async check(s) {
      await standingStill(s)
      like('the answer', await s.settle('t', 2, { outputJson: '"yes"' }), { won: true, ready: [] })
      like('what it has asked for', await s.storage.runs.asked('r'), {
        tokens: [{ id: 't', status: 'COMPLETED', outputJson: '"yes"' }],
      })
    },
  },
  {
    id: 'runs.claim/pending-version-goes-on',
    law: 'A PENDING_VERSION run that becomes EXECUTING is claimed: attempt + 1, before queued runs, and not as interrupted.',
    async check(s) {
      const run = await startOfV1(s)
      await setAside(s, run, 1)
      await s.insertRun('next', {}, 2)
      const updated = await goOn(s, run, 3)
      like('the update', updated, { record: { status: 'EXECUTING', owner: undefined, slot: false } })
      like('a tick', await s.tick(A, 4), { claimable: true })
      const { runs, ended } = await s.claim({ versions: V2, maxInterruptions: 0, now: 5 })
      same('what ended', ended, [])
      same('the order', idsOf(runs), ['r', 'next'])
      const started = { ...run, attempt: 2, epoch: run.epoch + 1, updatedAt: s.at(5) }
      same('the run', runs[0], started)
    },
  },
  {
    id: 'runs.update/pending-version-can-be-canceled',
    law: 'A PENDING_VERSION run that is canceled ends as any: waits for it become ready, it holds no slot.',
    async check(s) {
      const parent = await s.start('parent')
      const run = await standingStill(s)
      await s.wait(parent, 'run:r', 2)
      const change = { status: 'CANCELED', epoch: run.epoch + 1, slot: true, slotUntil: s.at(500) } as const
      const expected = { status: ['PENDING_VERSION'] } as const
      const request = { id: 'r', expected, change, by: A, now: s.at(3) }
      const updated = await s.storage.runs.update(request)
      like('the record', updated?.record, {
        status: 'CANCELED',
        slot: false,
        slotUntil: undefined,
        finishedAt: s.at(3),
      })
      same('the waits answered', namesOf(updated?.ready ?? []), [`run:r parent ${A}`])
      same('an update to EXECUTING', await goOn(s, run, 4), undefined)
    },
  },
]
