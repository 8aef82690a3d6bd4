import type { StatusCounts, TokenCountFilter, RunCountFilter } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { Mismatch, same } from '../sameness.ts'
import type { Subject } from '../subject.ts'

const laws: readonly Law[] = [
  {
    id: 'counts.tokens/by-status',
    law: 'Tokens of the kind MANUAL are counted by status.',
    async check(s) {
      for (const id of ['a', 'b', 'c']) await s.insertToken(id)
      await s.insertToken('sleep', { kind: 'SLEEP' })
      await s.settle('b')
      same('all', await tokenCounts(s), { WAITING: 2, COMPLETED: 1 })
      same('one status', await tokenCounts(s, { status: ['COMPLETED'] }), { COMPLETED: 1 })
    },
  },
  {
    id: 'counts.tokens/filters',
    law: 'Only tokens with any of the tags, created within the inclusive bounds, are counted, each once.',
    async check(s) {
      await s.insertToken('a', { tags: ['x'], createdAt: s.at(1) })
      await s.insertToken('b', { tags: ['x', 'y'], createdAt: s.at(2) })
      await s.insertToken('c', { createdAt: s.at(3) })
      same('x or y', await tokenCounts(s, { tags: ['x', 'y'] }), { WAITING: 2 })
      same('creation', await tokenCounts(s, { from: s.at(2), to: s.at(3) }), { WAITING: 2 })
      same('both', await tokenCounts(s, { tags: ['x'], to: s.at(1) }), { WAITING: 1 })
    },
  },
  {
    id: 'counts.runs/by-status',
    law: 'Runs are counted by status, as it is now.',
    async check(s) {
      const run = await s.start('a')
      await s.insertRun('b')
      await s.insertRun('c', { status: 'DELAYED', wakeAt: s.at(9) })
      same('all', await runCounts(s), { EXECUTING: 1, QUEUED: 1, DELAYED: 1 })
      await s.update(run, { status: 'COMPLETED' })
      same('after an end', await runCounts(s), { COMPLETED: 1, QUEUED: 1, DELAYED: 1 })
      same('one status', await runCounts(s, { status: ['QUEUED'] }), { QUEUED: 1 })
    },
  },
  {
    id: 'counts.runs/filters',
    law: 'Only runs of the tasks, with any of the tags, of the queue, created within the bounds, are counted.',
    async check(s) {
      await s.insertRun('a', { taskId: 'one', tags: ['x'], queue: 'q' }, 1)
      await s.insertRun('b', { taskId: 'two', tags: ['x', 'y'], queue: 'p' }, 2)
      await s.insertRun('c', { taskId: 'three', queue: 'q' }, 3)
      same('tasks', await runCounts(s, { taskIds: ['one', 'three'] }), { QUEUED: 2 })
      same('tags', await runCounts(s, { tags: ['x', 'y'] }), { QUEUED: 2 })
      same('creation', await runCounts(s, { from: s.at(2), to: s.at(3) }), { QUEUED: 2 })
      same('a queue', await runCounts(s, { queue: 'q' }), { QUEUED: 2 })
      same('all of it', await runCounts(s, { taskIds: ['one'], tags: ['x'], queue: 'q' }), { QUEUED: 1 })
    },
  },
  {
    id: 'counts/exact-up-to-at-most',
    law: 'A count says isMore only if there are more records of its status than atMost, and is then not too great.',
    async check(s) {
      for (const id of ['a', 'b', 'c', 'd']) await s.insertToken(id, { tags: ['x'] })
      await s.settle('a')
      const { counts } = s.storage
      if (counts === undefined) return
      const { WAITING, COMPLETED } = await counts.tokens({}, 3)
      same('as many as it may look at', WAITING, { count: 3, isMore: false })
      same('fewer', COMPLETED, { count: 1, isMore: false })
      const few = (await counts.tokens({}, 2)).WAITING ?? { count: 0, isMore: false }
      // A storage may know the number without a look.
      if (few.isMore ? few.count > 2 : few.count !== 3)
        throw new Mismatch('more', { expected: 'at most 2 and isMore, or 3', seen: few })
      same('few of a tag', (await counts.tokens({ tags: ['x'] }, 4)).WAITING, { count: 3, isMore: false })
    },
  },
]

/** Laws of `counts`. A storage that has none breaks none of them. */
export const countLaws: readonly Law[] = laws.map((law) => ({
  ...law,
  optional: '`counts`',
  async check(s, another) {
    if (s.storage.counts !== undefined) await law.check(s, another)
  },
}))

async function tokenCounts(s: Subject, filter: TokenCountFilter = {}): Promise<unknown> {
  const { counts } = s.storage
  return counts === undefined ? undefined : numbersOf(await counts.tokens(filter, 100))
}

async function runCounts(s: Subject, filter: RunCountFilter = {}): Promise<unknown> {
  const { counts } = s.storage
  return counts === undefined ? undefined : numbersOf(await counts.runs(filter, 100))
}

/** The counts that are not zero. All are exact. */
function numbersOf(counts: StatusCounts<string>): Readonly<Record<string, number>> {
  const all = Object.entries(counts).flatMap(([status, count]) =>
    count === undefined || count.count === 0 ? [] : [[status, count] as const],
  )
  const more = all.find(([, { isMore }]) => isMore)
  if (more !== undefined) throw new Mismatch('a count', { expected: 'an exact one', seen: more })
  return Object.fromEntries(all.map(([status, { count }]) => [status, count]))
}
