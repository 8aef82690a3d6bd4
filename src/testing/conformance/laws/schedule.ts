import type { ScheduleList, SchedulePut, ScheduleStore } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { Mismatch, same } from '../sameness.ts'
import { queuedRun } from '../sample-records.ts'
import { A, B, type Subject } from '../subject.ts'
import { heard } from './hint.ts'

interface ScheduleLaw extends Omit<Law, 'check'> {
  readonly check: (schedules: ScheduleStore, subject: Subject) => Promise<void>
}

const laws: readonly ScheduleLaw[] = [
  {
    id: 'schedules.list/all-by-id',
    law: 'All schedules are listed by id, with their texts as they were put; settings are none of them.',
    async check(schedules, s) {
      same('none', (await listed(schedules)).schedules, [])
      await s.storage.settings.getOrInsert('schedule x', '1')
      for (const id of ['b', 'a', 'ä/ß']) await put(schedules, { id, text: `{"id":"${id}\\n\u2028"}` })
      const expected = ['a', 'b', 'ä/ß'].map((id) => ({ id, text: `{"id":"${id}\\n\u2028"}` }))
      same('three', (await listed(schedules)).schedules, expected)
    },
  },
  {
    id: 'schedules.get/one-by-id',
    law: 'The text of one schedule is answered, and nothing for an id that has none.',
    async check(schedules) {
      for (const id of ['a', 'ab', 'b']) await put(schedules, { id, text: `text of ${id}` })
      const texts = await Promise.all(['b', 'a', 'c', 'ab'].map(async (id) => schedules.get(id)))
      same('texts', texts, ['text of b', 'text of a', undefined, 'text of ab'])
    },
  },
  {
    id: 'schedules.put/takes-the-place-of-the-expected',
    law: 'A text is put only in the place of the expected one, and taken away only if it is the expected one.',
    async check(schedules) {
      same('a second first one', await puts(schedules, [{ text: 'one' }, { text: 'two' }]), [true, false])
      same('one that is not there', await puts(schedules, [{ expected: 'two', text: 'three' }]), [false])
      same('one in its place', await puts(schedules, [{ expected: 'one', text: 'two' }]), [true])
      same('an end of another one', await puts(schedules, [{ expected: 'one' }]), [false])
      same('what is there', (await listed(schedules)).schedules, [{ id: 'a', text: 'two' }])
      same('its end', await puts(schedules, [{ expected: 'two' }, { expected: 'two' }]), [true, false])
      same('what is left', (await listed(schedules)).schedules, [])
    },
  },
  {
    id: 'schedules.list/tells-changes-by-revision',
    law: 'A known revision is answered with nothing, until there is a change.',
    async check(schedules) {
      const { revision: none } = await listed(schedules)
      same('no change', await schedules.list(none), undefined)
      await puts(schedules, [{ text: 'one' }])
      const { revision: one } = await listed(schedules, none)
      await puts(schedules, [{ expected: 'none', text: 'two' }])
      same('a change that was refused', await schedules.list(one), undefined)
      await puts(schedules, [{ expected: 'one', text: 'two' }])
      const { revision: two } = await listed(schedules, one)
      await puts(schedules, [{ expected: 'two' }])
      await listed(schedules, two)
    },
  },
  {
    id: 'schedules.put/mark-goes-with-its-schedule',
    law: 'When a schedule is taken away, the mark of its scope goes with it, and no other; a change leaves it.',
    async check(schedules, s) {
      for (const id of ['a', 'b']) {
        const key = { scope: `schedule/${id}`, value: '5' }
        const record = queuedRun(id, { createdAt: s.at(0), key })
        await s.storage.runs.insert({ record, mark: s.at(5), now: s.at(0), by: A })
      }
      const marks = async (): Promise<unknown> => s.storage.runs.marks(['schedule/a', 'schedule/b'])
      await puts(schedules, [{ text: 'one' }, { expected: 'one', text: 'two' }, { expected: 'one' }])
      same('before', await marks(), [s.at(5), s.at(5)])
      await puts(schedules, [{ expected: 'two' }])
      same('after', await marks(), [undefined, s.at(5)])
    },
  },
  {
    id: 'schedules.put/one-of-two-at-once',
    law: 'Of two that put a text in one place at once, one does.',
    async check(schedules) {
      const at = (text: string): SchedulePut => ({ id: 'a', text, by: A })
      const outcomes = await Promise.all([schedules.put(at('one')), schedules.put(at('two'))])
      same('outcomes', outcomes.filter(Boolean).length, 1)
      same('what is there', (await listed(schedules)).schedules, [
        { id: 'a', text: outcomes[0] ? 'one' : 'two' },
      ])
    },
  },
  {
    id: 'schedules.put/stale-fence',
    law: 'An attempt that no longer holds its run puts no text, whether the one that it expects is there or not: stale.',
    async check(schedules, s) {
      const run = await s.start('writer')
      const fence = { runId: run.id, epoch: run.epoch }
      const one = { id: 'a', text: 'one' }
      same(
        'an earlier epoch',
        await put(schedules, { ...one, fence: { ...fence, epoch: run.epoch - 1 } }),
        'stale',
      )
      same('another owner', await put(schedules, { ...one, fence, by: B }), 'stale')
      same(
        'a run that is not there',
        await put(schedules, { ...one, fence: { ...fence, runId: 'none' } }),
        'stale',
      )
      same('what is there', (await listed(schedules)).schedules, [])
      same('the right fence', await put(schedules, { ...one, fence }), true)
      await s.update(run, { status: 'COMPLETED' })
      for (const expected of ['one', 'two'])
        same(
          `in the place of ${expected}`,
          await put(schedules, { id: 'a', expected, text: 'x', fence }),
          'stale',
        )
      same('an end of it', await put(schedules, { id: 'a', expected: 'one', fence }), 'stale')
      same('what is left', (await listed(schedules)).schedules, [one])
    },
  },
  {
    id: 'subscribe/tells-of-schedules',
    law: 'A change of the schedules is hinted to other owners as `any`.',
    capability: 'hints',
    async check(schedules, s) {
      await s.tick(B)
      await heard(s, B, { act: () => put(schedules, { id: 'a', text: 'one' }), expected: 'any' })
    },
  },
]

/** Laws of `schedules`. A storage that has none breaks none of them. */
export const scheduleLaws: readonly Law[] = laws.map((law) => ({
  ...law,
  optional: '`schedules`',
  async check(s) {
    if (s.storage.schedules !== undefined) await law.check(s.storage.schedules, s)
  },
}))

async function listed(schedules: ScheduleStore, known?: string): Promise<ScheduleList> {
  const list = await schedules.list(known)
  if (list !== undefined) return list
  throw new Mismatch('the schedules', { expected: 'a list: they have changed', seen: undefined })
}

async function put(
  schedules: ScheduleStore,
  request: Omit<SchedulePut, 'by'> & Partial<Pick<SchedulePut, 'by'>>,
): Promise<boolean | 'stale'> {
  return schedules.put({ by: A, ...request })
}

/** The outcomes of changes of one schedule, one after the other. */
async function puts(
  schedules: ScheduleStore,
  changes: readonly Omit<SchedulePut, 'id' | 'by'>[],
): Promise<(boolean | 'stale')[]> {
  const outcomes: (boolean | 'stale')[] = []
  for (const change of changes) outcomes.push(await put(schedules, { id: 'a', ...change }))
  return outcomes
}
