import type { RunRecord } from '../../../contract/records.ts'
import type { Inserted, RunBinding, RunPush } from '../../../contract/storage.ts'
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
  /** The place that is bound, of a run that executes. */
  readonly bind?: Place
}

interface Place {
  readonly of: RunRecord
  readonly value: string
}

/** The token of a place; its id is that of the run which is inserted with it, and so another one each time. */
function bindingOf({ of, value }: Place, at: number, id: string): RunBinding {
  const key = { scope: of.id, value }
  const fields = { kind: 'BINDING', status: 'COMPLETED', tags: [], runId: of.id } as const
  return { ...fields, id: `binding-${id}`, key, createdAt: at, completedAt: at }
}

/** Stores a run that is put off by the triggers of its key after it, or puts off one that is there. */
async function trigger(s: Subject, id: string, given: Trigger = {}): Promise<Inserted<RunRecord> | 'stale'> {
  const { now = 0, wakeAt = now + 50, push, fields, bind } = given
  const record = queuedRun(id, {
    createdAt: s.at(now),
    status: 'DELAYED',
    wakeAt: s.at(wakeAt),
    // It is no idempotency key: only pushes find what it has.
    key: { scope: 's', value: 'v', expiresAt: s.at(now) },
    ...fields,
  })
  const request = { record, push: { wakeAt: s.at(wakeAt), ...push }, now: s.at(now), by: A }
  if (bind === undefined) return s.storage.runs.insert(request)
  const { of } = bind
  const fence = { runId: of.id, epoch: of.epoch }
  return s.storage.runs.insert({ ...request, bind: bindingOf(bind, request.now, id), fence })
}

/** The places of a run that are bound, and to which runs. */
async function boundIn(s: Subject, runId: string): Promise<readonly unknown[]> {
  const { tokens } = await s.storage.runs.asked(runId)
  const bound = tokens.filter(({ kind }) => kind === 'BINDING')
  return bound.map(({ key, outputJson }) => [key?.value, outputJson])
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
  {
    id: 'runs.insert/push-binds',
    law: 'A push with a binding stores its token in the same step, with the id of the run that is answered: a new one, or one that is put off.',
    async check(s) {
      const of = await s.start('parent')
      const made = await trigger(s, 'first', { bind: { of, value: 'one' } })
      like('the new run', made, { isCached: false, record: { id: 'first', wakeAt: s.at(50) } })
      const pushed = await trigger(s, 'x', { now: 10, bind: { of, value: 'two' } })
      like('the run that is put off', pushed, { isCached: true, record: { id: 'first', wakeAt: s.at(60) } })
      const place = { of, value: 'two' }
      const token = { ...bindingOf(place, s.at(10), 'x'), outputJson: '"first"' }
      like('the token', await s.storage.tokens.get('binding-x', s.at(10)), { record: token })
      same('what the places are bound to', await boundIn(s, 'parent'), [
        ['one', '"first"'],
        ['two', '"first"'],
      ])
    },
  },
  {
    id: 'runs.insert/push-is-bound',
    law: 'Where a place is bound, its run is answered as it is: leading or trailing, it is not put off again, whatever has become of it, and nothing is stored.',
    async check(s) {
      const place = { of: await s.start('parent'), value: 'one' }
      const fields = { payloadJson: '1' }
      await trigger(s, 'first', { bind: place, fields })
      const again = async (now: number, id: string, push?: Trigger['push']): Promise<unknown> =>
        trigger(s, id, { now, bind: place, ...(push && { push }) })
      const before = await s.storage.runs.get('first')
      same('leading', await again(10, 'a'), { isCached: true, record: before })
      const change = { payloadJson: '2', tags: ['two'] }
      same('trailing', await again(10, 'b', { change }), { isCached: true, record: before })
      same('beyond', await again(10, 'c', { withinMs: 1 }), { isCached: true, record: before })
      like('another place', await trigger(s, 'x', { now: 20, bind: { ...place, value: 'two' } }), {
        record: { id: 'first', wakeAt: s.at(70) },
      })
      const [run] = (await s.claim({ now: 70 })).runs
      like('one that executes', await again(71, 'd'), { record: { id: 'first', status: 'EXECUTING' } })
      like('a trigger without a place', await trigger(s, 'second', { now: 72 }), { record: { id: 'second' } })
      if (run !== undefined) await s.update(run, { status: 'COMPLETED', outputJson: '7' }, 73)
      const ended = { id: 'first', status: 'COMPLETED', outputJson: '7' }
      like('one that has ended', await again(74, 'e'), { isCached: true, record: ended })
      same('the run that was put off since', (await s.storage.runs.get('second'))?.wakeAt, s.at(122))
      same('what the places are bound to', await boundIn(s, 'parent'), [
        ['one', '"first"'],
        ['two', '"first"'],
      ])
      for (const id of ['a', 'b', 'c', 'd', 'e']) {
        same(`the run "${id}"`, await s.storage.runs.get(id), undefined)
        same(`the token "${id}"`, await s.storage.tokens.get(`binding-${id}`, s.at(74)), undefined)
      }
    },
  },
  {
    id: 'runs.insert/push-binds-by-its-fence',
    law: 'A push with a binding whose fence does not hold answers stale, and neither puts off nor binds.',
    async check(s) {
      const of = await s.start('parent')
      await trigger(s, 'first')
      const stale = { of: { ...of, epoch: of.epoch - 1 }, value: 'one' }
      same('the answer', await trigger(s, 'x', { now: 10, bind: stale }), 'stale')
      like('the run', await s.storage.runs.get('first'), { wakeAt: s.at(50), epoch: 0 })
      same('what the places are bound to', await boundIn(s, 'parent'), [])
    },
  },
  {
    id: 'prune/keeps-what-is-bound',
    law: 'A run that has ended stays as long as a run with a place that is bound to it is not over.',
    async check(s) {
      const one = await s.start('one')
      const other = await s.start('other')
      await trigger(s, 'first', { bind: { of: one, value: 'place' } })
      await trigger(s, 'x', { now: 1, bind: { of: other, value: 'place' } })
      const [run] = (await s.claim({ now: 51 })).runs
      if (run !== undefined) await s.update(run, { status: 'COMPLETED' }, 52)
      const isKept = async (now: number): Promise<boolean> => {
        for (const keep of [undefined, 0])
          await s.storage.prune({ before: s.at(now), now: s.at(now), limit: 100, keep })
        return (await s.storage.runs.get('first')) !== undefined
      }
      same('while both execute', await isKept(90), true)
      await s.update(one, { status: 'COMPLETED' }, 91)
      same('while one does', await isKept(92), true)
      like('its answer', await trigger(s, 'y', { now: 92, bind: { of: other, value: 'place' } }), {
        record: { id: 'first', status: 'COMPLETED' },
      })
      await s.update(other, { status: 'COMPLETED' }, 93)
      same('when both are over', await isKept(95), false)
    },
  },
]

/** Laws of a storage that `debounces`. */
export const pushLaws: readonly Law[] = laws.map((law) => ({
  ...law,
  optional: '`debounces`',
  async check(s, another) {
    if (s.storage.debounces === true) await law.check(s, another)
  },
}))
