import type { RunRecord } from '../../../contract/records.ts'
import type { Inserted, RunPush } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { queuedRun } from '../sample-records.ts'
import { like, same } from '../sameness.ts'
import { A, idsOf, type Subject } from '../subject.ts'

interface Trigger {
  readonly now?: number
  /** When the run is due, unless it is put off further. */
  readonly wakeAt?: number
  readonly push?: Omit<RunPush, 'wakeAt'>
  readonly fields?: Partial<RunRecord>
}

/** Stores a run that is put off by the triggers of its key after it, or puts off one that is there. */
async function trigger(s: Subject, id: string, given: Trigger = {}): Promise<Inserted<RunRecord> | 'stale'> {
  const { now = 0, wakeAt = now + 50, push, fields } = given
  const record = queuedRun(id, {
    createdAt: s.at(now),
    status: 'DELAYED',
    wakeAt: s.at(wakeAt),
    // It is no idempotency key: only pushes find what it has.
    key: { scope: 's', value: 'v', expiresAt: s.at(now) },
    ...fields,
  })
  return s.storage.runs.insert({ record, push: { wakeAt: s.at(wakeAt), ...push }, now: s.at(now), by: A })
}

async function claimedAt(s: Subject, now: number): Promise<readonly string[]> {
  return idsOf((await s.claim({ now })).runs)
}

const laws: readonly Law[] = [
  {
    id: 'runs.insert/push-puts-off',
    law: 'A push puts the last run of its key off and stores nothing, though the key has expired; the run is due at its new wakeAt, and not before.',
    async check(s) {
      like('the first', await trigger(s, 'first'), { isCached: false, record: { id: 'first' } })
      like('the second', await trigger(s, 'second', { now: 40 }), {
        isCached: true,
        record: { id: 'first', status: 'DELAYED', wakeAt: s.at(90), updatedAt: s.at(40), createdAt: s.at(0) },
      })
      same('the second record', await s.storage.runs.get('second'), undefined)
      same('what is due at the old wakeAt', await claimedAt(s, 89), [])
      same('what is due at the new one', await claimedAt(s, 90), ['first'])
    },
  },
  {
    id: 'runs.insert/push-never-brings-forward',
    law: 'A push with an earlier wakeAt leaves that of the run; expiresAt moves by as much as wakeAt does.',
    async check(s) {
      await trigger(s, 'first', { fields: { expiresAt: s.at(70) } })
      const earlier = await trigger(s, 'x', { now: 10, wakeAt: 20 })
      like('an earlier one', earlier, { record: { id: 'first', wakeAt: s.at(50), expiresAt: s.at(70) } })
      const later = await trigger(s, 'x', { now: 20, wakeAt: 80 })
      like('a later one', later, { record: { id: 'first', wakeAt: s.at(80), expiresAt: s.at(100) } })
    },
  },
  {
    id: 'runs.insert/push-replaces-what-it-names',
    law: 'A push replaces the fields of its change, to be read and listed so, and no other field.',
    async check(s) {
      const fields = {
        payloadJson: '1',
        metadataJson: '{"a":1}',
        optionsJson: '{"x":1}',
        tags: ['one', 'two'],
      }
      await trigger(s, 'first', { fields })
      const others = { payloadJson: '2', metadataJson: '{"b":1}', optionsJson: '{"y":1}', tags: ['three'] }
      await trigger(s, 'x', { now: 1, fields: others })
      like('without a change', await s.storage.runs.get('first'), fields)
      const change = { payloadJson: undefined, tags: ['two', 'three'] }
      await trigger(s, 'x', { now: 2, push: { change } })
      like('with one', await s.storage.runs.get('first'), { ...fields, ...change })
      const listed = async (tag: string): Promise<readonly string[]> =>
        idsOf((await s.storage.runs.list({ tags: [tag] }, { limit: 10 })).records)
      same('runs of a tag that is gone', await listed('one'), [])
      same('runs of a new tag', await listed('three'), ['first'])
      const rest = { metadataJson: '{"c":1}', optionsJson: undefined }
      await trigger(s, 'x', { now: 3, push: { change: rest } })
      like('with another one', await s.storage.runs.get('first'), { ...change, ...rest })
    },
  },
  {
    id: 'runs.insert/push-raises-the-epoch',
    law: 'A push raises the epoch of the run, so that an update of what was read before is refused.',
    async check(s) {
      await trigger(s, 'first')
      const pushed = await trigger(s, 'x', { now: 1, push: { change: { tags: ['last'] } } })
      like('the answer', pushed, { record: { id: 'first', epoch: 1 } })
      like('the run', await s.storage.runs.get('first'), { epoch: 1 })
    },
  },
  {
    id: 'runs.insert/push-has-an-end',
    law: 'A run that would be put off further than withinMs after its creation stays as it is, and the push stores a new run.',
    async check(s) {
      await trigger(s, 'first')
      const push = { withinMs: 90, change: { payloadJson: '2' } }
      like('within', await trigger(s, 'x', { now: 40, push }), { record: { id: 'first', payloadJson: '2' } })
      like('beyond', await trigger(s, 'second', { now: 41, push: { ...push, change: {} } }), {
        isCached: false,
        record: { id: 'second' },
      })
      like('the first', await s.storage.runs.get('first'), { wakeAt: s.at(90), payloadJson: '2' })
      like('the next', await trigger(s, 'x', { now: 42 }), { isCached: true, record: { id: 'second' } })
    },
  },
  {
    id: 'runs.insert/push-comes-too-late',
    law: 'A run that is due, was started or is over is not put off: the push stores a new run, which is the last of the key.',
    async check(s) {
      const isNew = async (id: string, now: number): Promise<void> =>
        like(`the push "${id}"`, await trigger(s, id, { now }), { isCached: false, record: { id } })
      await isNew('due', 0)
      await isNew('started', 50)
      same('what is due', await claimedAt(s, 100), ['due', 'started'])
      await s.update({ id: 'started' }, { status: 'DELAYED', wakeAt: s.at(900) }, 101)
      await isNew('canceled', 102)
      await s.update({ id: 'canceled' }, { status: 'CANCELED', epoch: 1 }, 103)
      await isNew('last', 104)
      like('the last of the key', await trigger(s, 'x', { now: 105 }), { record: { id: 'last' } })
      like('the one that was started', await s.storage.runs.get('started'), { wakeAt: s.at(900) })
    },
  },
  {
    id: 'runs.insert/push-made-again',
    law: 'A push that is made once more, because its answer was lost, does not put off the run that it has stored.',
    async check(s) {
      await trigger(s, 'first', { push: {} })
      const again = trigger(s, 'first', { wakeAt: 80 })
      // The id is taken, or the call is known again.
      await again.catch(() => undefined)
      like('the run', await s.storage.runs.get('first'), { wakeAt: s.at(50) })
    },
  },
]

/** Laws of a storage that `debounces`. */
export const pushLaws: readonly Law[] = laws.map((law) => ({
  ...law,
  async check(s, another) {
    if (s.storage.debounces === true) await law.check(s, another)
  },
}))
