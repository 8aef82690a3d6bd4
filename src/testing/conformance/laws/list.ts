import type { Awaitable, Page, PageRequest, RunFilter, TokenFilter } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { idsOf, type Subject } from '../subject.ts'

/** Laws of lists and their pages. */
export const listLaws: readonly Law[] = [
  ...pageLaws('tokens'),
  {
    id: 'tokens.list/settles-past-deadline',
    law: 'A list settles tokens past their deadlines before it answers, and names them in settled, matching or not.',
    async check(s) {
      await s.insertToken('a', { timeoutAt: s.at(10) })
      await s.insertToken('b', { timeoutAt: s.at(20) })
      const open = { kind: 'MANUAL', status: ['WAITING'] } as const
      const page = await s.storage.tokens.list(open, { limit: 5 }, s.at(10))
      same('what is open', idsOf(page.records), ['b'])
      like('what was settled', page.settled, [{ id: 'a', status: 'TIMED_OUT', completedAt: s.at(10) }])
      const again = await s.storage.tokens.list({ kind: 'MANUAL' }, { limit: 5 }, s.at(11))
      same('tokens settled by a second list', idsOf(again.settled), [])
    },
  },
  {
    id: 'tokens.list/filters-by-tags',
    law: 'A tag filter matches tokens with any of the tags.',
    async check(s) {
      await s.insertToken('a', { tags: ['x'] })
      await s.insertToken('b', { tags: ['x', 'y'] })
      await s.insertToken('c', { tags: ['z'] })
      same('x or y', await tokenIds(s, { kind: 'MANUAL', tags: ['x', 'y'] }), ['b', 'a'])
      same('z', await tokenIds(s, { kind: 'MANUAL', tags: ['z'] }), ['c'])
    },
  },
  {
    id: 'tokens.list/filters-by-key',
    law: 'A key filter lists all tokens stored with the key in its scope.',
    async check(s) {
      await s.insertToken('a', { key: { scope: 's', value: 'v', expiresAt: s.at(10) } })
      await s.insertToken('b', { key: { scope: 's', value: 'v', expiresAt: s.at(30) } }, 20)
      await s.insertToken('c', { key: { scope: 's2', value: 'v' } })
      same('the key', await tokenIds(s, { kind: 'MANUAL', key: { scope: 's', value: 'v' } }), ['b', 'a'])
    },
  },
  {
    id: 'tokens.list/filters-by-status-and-kind',
    law: 'Only tokens of the kind, and of the given statuses, are listed.',
    async check(s) {
      await s.insertToken('a')
      await s.insertToken('b')
      await s.insertToken('c', { kind: 'SLEEP' })
      await s.settle('a')
      same('completed', await tokenIds(s, { kind: 'MANUAL', status: ['COMPLETED'] }), ['a'])
      same('all', await tokenIds(s, { kind: 'MANUAL' }), ['b', 'a'])
    },
  },
  {
    id: 'tokens.list/filters-by-creation',
    law: 'The bounds on createdAt are inclusive.',
    async check(s) {
      for (const [at, id] of ['a', 'b', 'c', 'd'].entries()) await s.insertToken(id, { createdAt: s.at(at) })
      same('from 1 to 2', await tokenIds(s, { kind: 'MANUAL', from: s.at(1), to: s.at(2) }), ['c', 'b'])
    },
  },
  ...pageLaws('runs'),
  {
    id: 'runs.list/filters',
    law: 'Runs are filtered by status, task, any of the tags and inclusive bounds on createdAt.',
    async check(s) {
      await s.insertRun('a', { taskId: 'one', tags: ['x'] }, 1)
      await s.insertRun('b', { taskId: 'two', tags: ['x', 'y'] }, 2)
      await s.insertRun('c', { taskId: 'three', status: 'DELAYED', wakeAt: s.at(9) }, 3)
      same('tasks', await runIds(s, { taskIds: ['one', 'three'] }), ['c', 'a'])
      same('status', await runIds(s, { status: ['DELAYED', 'FAILED'] }), ['c'])
      same('tags', await runIds(s, { tags: ['x', 'y'] }), ['b', 'a'])
      same('creation', await runIds(s, { from: s.at(1), to: s.at(2) }), ['b', 'a'])
      await s.insertRun('d', { createdAt: s.at(4), updatedAt: s.at(6) })
      same('creation, not a change', await runIds(s, { from: s.at(5), to: s.at(7) }), [])
      same('creation, before a change', await runIds(s, { from: s.at(4), to: s.at(5) }), ['d'])
    },
  },
  {
    id: 'runs.list/not-these-tasks',
    law: 'Runs of the tasks in notTaskIds are left out.',
    async check(s) {
      await s.insertRun('a', { taskId: 'one' })
      await s.insertRun('b', { taskId: 'two' })
      same('all but one', await runIds(s, { notTaskIds: ['one'] }), ['b'])
    },
  },
  {
    id: 'runs.list/below-a-root',
    law: 'With root, the runs below that run are listed, however deep, and not the run itself; the other filters narrow them.',
    async check(s) {
      for (const id of ['a', 'b', 'g']) await s.insertRun(id)
      const below = { rootId: 'a', parentId: 'a' }
      await s.insertRun('c', { ...below, taskId: 'one', tags: ['x'] })
      await s.insertRun('d', { ...below, parentId: 'c', createdAt: s.at(1) })
      await s.insertRun('e', { rootId: 'b', parentId: 'b' })
      await s.insertRun('f', {
        ...below,
        taskId: 'one',
        status: 'DELAYED',
        wakeAt: s.at(9),
        createdAt: s.at(2),
      })
      same('below a', await runIds(s, { root: 'a' }), ['f', 'd', 'c'])
      same('below b', await runIds(s, { root: 'b' }), ['e'])
      same('below one without children', await runIds(s, { root: 'g' }), [])
      same('below one that is no root', await runIds(s, { root: 'c' }), [])
      same('of a task', await runIds(s, { root: 'a', taskIds: ['one'] }), ['f', 'c'])
      same('not of a task', await runIds(s, { root: 'a', notTaskIds: ['one'] }), ['d'])
      same('in a status', await runIds(s, { root: 'a', status: ['DELAYED'] }), ['f'])
      same('with any of some tags', await runIds(s, { root: 'a', tags: ['x', 'y'] }), ['c'])
      same('of a time', await runIds(s, { root: 'a', from: s.at(1), to: s.at(1) }), ['d'])
      const second = await s.storage.runs.list({ root: 'a' }, { limit: 1, after: 'f' })
      same('a page', [idsOf(second.records), second.next, second.previous], [['d'], 'd', 'd'])
    },
  },
  {
    id: 'runs.list/roots',
    law: 'With isRoot, only runs without a parent are listed, also with other filters.',
    async check(s) {
      await s.insertRun('a', { tags: ['x'] })
      await s.insertRun('b', { rootId: 'a', parentId: 'a', tags: ['x'] })
      await s.insertRun('c')
      await s.insertRun('d', { rootId: 'a', parentId: 'b' })
      same('the roots', await runIds(s, { isRoot: true }), ['c', 'a'])
      same('those with a tag', await runIds(s, { isRoot: true, tags: ['x'] }), ['a'])
      same('those of tasks', await runIds(s, { isRoot: true, notTaskIds: ['none'] }), ['c', 'a'])
      const newest = await s.storage.runs.list({ isRoot: true }, { limit: 1 })
      same('the newest', [idsOf(newest.records), newest.next], [['c'], 'c'])
    },
  },
]

/** The order of lists whose records were not stored in the order of their ids. */
export const orderLaws: readonly Law[] = [orderOfIds('tokens'), orderOfIds('runs')]

async function tokenIds(s: Subject, filter: TokenFilter): Promise<string[]> {
  return idsOf((await s.storage.tokens.list(filter, { limit: 50 }, s.at(0))).records)
}

async function runIds(s: Subject, filter: RunFilter): Promise<string[]> {
  return idsOf((await s.storage.runs.list(filter, { limit: 50 })).records)
}

type CommonFilter = Pick<RunFilter, 'tags' | 'from' | 'to'> & { readonly status?: undefined }
type Insert = (s: Subject, id: string) => Promise<unknown>
type List = (s: Subject, page: PageRequest) => Promise<Page<{ readonly id: string }>>

function pageLaws(store: 'tokens' | 'runs'): readonly Law[] {
  const insert: Insert = async (s, id) => (store === 'tokens' ? s.insertToken(id) : s.insertRun(id))
  const list: List = async (s, page) =>
    store === 'tokens'
      ? s.storage.tokens.list({ kind: 'MANUAL' }, page, s.at(0))
      : s.storage.runs.list({}, page)
  return [
    {
      id: `${store}.list/newest-first`,
      law: 'A page lists by id descending, in whatever order the records were stored; next leads to the older ones.',
      async check(s) {
        for (const id of ['b', 'd', 'a', 'c']) await insert(s, id)
        const first = await list(s, { limit: 3 })
        same('the first page', idsOf(first.records), ['d', 'c', 'b'])
        same('its next', first.next, 'b')
        const second = await list(s, { limit: 3, after: first.next })
        same('the second page', idsOf(second.records), ['a'])
        same('its next', second.next, undefined)
      },
    },
    {
      id: `${store}.list/pages-back`,
      law: 'previous leads to the page of the newer records; the newest page has none.',
      async check(s) {
        for (const id of ['a', 'b', 'c', 'd', 'e']) await insert(s, id)
        const last = await list(s, { limit: 2, after: 'c' })
        same('the last page', idsOf(last.records), ['b', 'a'])
        same('its previous', last.previous, 'b')
        const middle = await list(s, { limit: 2, before: last.previous })
        same('the page before', idsOf(middle.records), ['d', 'c'])
        same('its cursors', [middle.next, middle.previous], ['c', 'd'])
        const newest = await list(s, { limit: 2, before: middle.previous })
        same('the newest page', [idsOf(newest.records), newest.previous], [['e'], undefined])
      },
    },
    stablePages(store, { insert, list }),
  ]
}

/** Of one millisecond, and of several: ids say which record is newer. */
function orderOfIds(store: 'tokens' | 'runs'): Law {
  return {
    id: `${store}.list/by-id`,
    law: 'Every list is ordered by id, within a millisecond and beyond, and so are its pages; bounds on createdAt are inclusive.',
    async check(s) {
      const created = { a: 0, b: 0, c: 1, d: 3, e: 5, f: 5, g: 9 }
      for (const id of ['d', 'a', 'f', 'c', 'g', 'b', 'e'] as const) {
        const fields = { tags: ['x'], createdAt: s.at(created[id]) }
        if (store === 'tokens') await s.insertToken(id, fields)
        else await s.insertRun(id, fields)
      }
      const { runs, tokens } = s.storage
      const list = (filter: CommonFilter, page: PageRequest): Awaitable<Page<{ readonly id: string }>> =>
        store === 'tokens'
          ? tokens.list({ kind: 'MANUAL', status: ['WAITING'], ...filter }, page, s.at(9))
          : runs.list({ status: ['QUEUED'], ...filter }, page)
      const newest = ['g', 'f', 'e', 'd', 'c', 'b', 'a']
      for (const filter of [
        {},
        { tags: ['x'] },
        { tags: ['x', 'y'] },
        { from: s.at(0), to: s.at(9) },
        { status: undefined },
      ]) {
        same('a list', idsOf((await list(filter, { limit: 9 })).records), newest)
        const older = await list(filter, { limit: 2, after: 'e' })
        same('a page', [idsOf(older.records), older.next, older.previous], [['d', 'c'], 'c', 'd'])
        const newer = await list(filter, { limit: 2, before: 'd' })
        same('the page before', [idsOf(newer.records), newer.next, newer.previous], [['f', 'e'], 'e', 'f'])
      }
      const some = await list({ from: s.at(1), to: s.at(5) }, { limit: 9 })
      same('some of it', idsOf(some.records), ['f', 'e', 'd', 'c'])
    },
  }
}

function stablePages(store: string, { insert, list }: { readonly insert: Insert; readonly list: List }): Law {
  return {
    id: `${store}.list/pages-are-stable`,
    law: 'Pages are stable while records are added: no record is listed twice and none is missed.',
    async check(s) {
      for (const id of ['b', 'c', 'd']) await insert(s, id)
      const first = await list(s, { limit: 1 })
      await insert(s, 'e')
      const second = await list(s, { limit: 1, after: first.next })
      same('the second page', idsOf(second.records), ['c'])
      await insert(s, 'a')
      const rest = await list(s, { limit: 5, after: second.next })
      same('the rest', idsOf(rest.records), ['b', 'a'])
    },
  }
}
