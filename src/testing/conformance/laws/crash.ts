import type { Awaitable } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { chunkOf, queuedRun } from '../sample-records.ts'
import { like, same } from '../sameness.ts'
import { A, B, idsOf, namesOf, type Subject, type TestedStorage } from '../subject.ts'

type Crash = (storage: TestedStorage) => Awaitable<TestedStorage>

/** Laws of crashes: acknowledged writes survive, and other writes are stored completely or not at all. */
export function crashLaws(crash: Crash): readonly Law[] {
  const die: Die = (s) => s.replace(crash)
  return [...acknowledgedLaws(die), ...leaseLaws(die), ...wholeLaws(die)]
}

type Die = (s: Subject) => Promise<void>

function acknowledgedLaws(die: Die): readonly Law[] {
  return [
    {
      id: 'crash/acknowledged-is-there',
      law: 'Everything answered before a crash is there after it: records, waits, chunks, settings, marks.',
      capability: 'crash',
      async check(s) {
        const run = await s.startParked('r', 'open')
        const writer = await s.start('w')
        await s.insertToken('t')
        await s.settle('t', 1, { outputJson: '"kept"' })
        const stream = { runId: 'w', key: 'k', epoch: writer.epoch, by: A }
        await s.storage.chunks.open({ ...stream, attempt: 1, now: s.at(0) })
        const history = { chunks: 9, bytes: 9_000 }
        await s.storage.chunks.append({ ...stream, first: 0, chunks: [chunkOf('a')], history })
        await s.storage.settings.getOrInsert('secret', 'one')
        const key = { scope: 's', value: '5' }
        const record = queuedRun('marked', { createdAt: s.at(0), key })
        await s.storage.runs.insert({ record, mark: s.at(5), now: s.at(0), by: A })
        await die(s)
        same('the run', await s.storage.runs.get('r'), run)
        same('its waits', idsOf(await s.storage.runs.waits('r')), ['open'])
        like('the token', (await s.storage.tokens.get('t', s.at(1)))?.record, { outputJson: '"kept"' })
        const read = await s.storage.chunks.read({ runId: 'w', key: 'k', from: 0, limit: 5 })
        same(
          'the chunks',
          read?.chunks.map(({ value }) => value),
          ['a'],
        )
        same('the setting', await s.storage.settings.getOrInsert('secret', 'two'), 'one')
        same('the mark', await s.storage.runs.marks(['s']), [s.at(5)])
      },
    },
  ]
}

function leaseLaws(die: Die): readonly Law[] {
  return [
    {
      id: 'crash/leases-are-kept',
      law: 'A crash ends no lease: the runs of its owner are claimed at the end of the lease, not before.',
      capability: 'crash',
      async check(s) {
        await s.tick(B, 0, { leaseUntil: s.at(100) })
        await s.start('r', {}, B)
        await die(s)
        same('a claim before', idsOf((await s.claim({ now: 99 })).runs), [])
        same('a claim at its end', idsOf((await s.claim({ now: 100 })).runs), ['r'])
      },
    },
    {
      id: 'crash/claims-are-mustered',
      law: 'The muster after a claim whose answer was lost in a crash answers its runs.',
      capability: 'crash',
      async check(s) {
        await s.insertRun('r')
        const { runs } = await s.claim()
        await die(s)
        same('the muster', await s.claim({ limit: 0 }), { runs, ended: [] })
      },
    },
  ]
}

function wholeLaws(die: Die): readonly Law[] {
  return [
    {
      id: 'crash/settles-are-whole',
      law: 'A completion in flight at a crash is stored with the waits it made ready, or not at all; it can be repeated.',
      capability: 'crash',
      async check(s) {
        const run = await s.start('r')
        await s.insertToken('t')
        await s.wait(run, 't')
        void s.settle('t', 1).then(ignore, ignore)
        await die(s)
        const before = await s.storage.tokens.get('t', s.at(1))
        const isThere = before?.record.status === 'COMPLETED'
        same('waits handed over', namesOf((await s.tick(A, 1)).ready), isThere ? [`t r ${A}`] : [])
        await s.settle('t', 1)
        same('waits handed over in the end', namesOf((await s.tick(A, 1)).ready), [`t r ${A}`])
      },
    },
    {
      id: 'crash/ends-of-runs-are-whole',
      law: 'The end of a run in flight at a crash is stored with the effect on its waits, or not at all.',
      capability: 'crash',
      async check(s) {
        const parent = await s.start('parent')
        const child = await s.start('child')
        await s.wait(parent, 'run:child')
        void s.update(child, { status: 'COMPLETED' }, 1).then(ignore, ignore)
        await die(s)
        const isThere = (await s.storage.runs.get('child'))?.status === 'COMPLETED'
        same(
          'waits handed over',
          namesOf((await s.tick(A, 1)).ready),
          isThere ? [`run:child parent ${A}`] : [],
        )
      },
    },
  ]
}

/** Ignores the answer of a call whose caller is gone. */
function ignore(): void {
  // The call may have taken effect or not.
}
