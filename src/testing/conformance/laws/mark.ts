import type { RunInserted } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { queuedRun } from '../sample-records.ts'
import { A, type Subject } from '../subject.ts'

interface Insert {
  readonly scope?: string
  readonly mark: number
  readonly now?: number
  /** The attempt that inserts. */
  readonly epoch?: number
}

/** Inserts the run of an instant, with a key for a hundred milliseconds. */
async function insert(
  s: Subject,
  id: string,
  { scope = 's', mark, now = 0, epoch }: Insert,
): Promise<RunInserted | 'stale'> {
  const key = { scope, value: String(mark), expiresAt: s.at(now + 100) }
  const record = queuedRun(id, { createdAt: s.at(now), key })
  const fence = epoch === undefined ? undefined : { runId: 'writer', epoch }
  return s.storage.runs.insert({ record, mark: s.at(mark), fence, now: s.at(now), by: A })
}

async function marks(s: Subject, scopes: readonly string[]): Promise<(number | undefined)[]> {
  const all = await s.storage.runs.marks(scopes)
  return all.map((mark) => (mark === undefined ? undefined : mark - s.origin))
}

/** Laws of marks. */
export const markLaws: readonly Law[] = [
  {
    id: 'runs.marks/highest-of-each-scope',
    law: 'The highest mark of all inserts with keys of a scope is answered, for each scope that is asked for, in order.',
    async check(s) {
      same('none', await marks(s, ['s']), [undefined])
      await insert(s, 'first', { mark: 9 })
      await insert(s, 'second', { mark: 1_000 })
      await insert(s, 'earlier', { mark: 200 })
      await insert(s, 'other', { scope: 't', mark: 7 })
      await s.insertRun('without', { key: { scope: 'u', value: '5', expiresAt: s.at(100) } })
      same('marks', await marks(s, ['t', 'u', 's', 't', 'S']), [7, undefined, 1_000, 7, undefined])
      same('of no scope', await marks(s, []), [])
    },
  },
  {
    id: 'runs.marks/moved-by-a-cached-insert',
    law: 'The mark is moved in the step of the insert, also if its key has a holder, and not by an attempt that no longer holds its run.',
    async check(s) {
      await s.insertRun('holder', { key: { scope: 's', value: '10', expiresAt: s.at(100) } })
      like('the insert', await insert(s, 'cached', { mark: 10 }), {
        isCached: true,
        record: { id: 'holder' },
      })
      same('the mark', await marks(s, ['s']), [10])
      const { epoch } = await s.start('writer')
      same('a stale insert', await insert(s, 'stale', { mark: 20, epoch: epoch + 1 }), 'stale')
      same('the mark after it', await marks(s, ['s']), [10])
      await insert(s, 'fenced', { mark: 30, epoch })
      same('the mark of an attempt', await marks(s, ['s']), [30])
    },
  },
  {
    id: 'runs.marks/outlive-their-runs',
    law: 'A mark stays when its runs are dropped.',
    async check(s) {
      await insert(s, 'r', { mark: 10 })
      await s.update({ id: 'r' }, { status: 'CANCELED' })
      await s.storage.prune({ before: s.at(500), now: s.at(500), limit: 10 })
      same('the mark', await marks(s, ['s']), [10])
    },
  },
  {
    id: 'runs.marks/of-inserts-at-once',
    law: 'Of inserts of one instant at once, all are answered and one is not cached, in whichever order several scopes come.',
    async check(s) {
      const scopes = Array.from({ length: 8 }, (_, at) => `scope ${at}`)
      const orders = [scopes, scopes.toReversed()]
      const answers = await Promise.all(
        orders.flatMap((order, by) =>
          order.map((scope) => insert(s, `${scope} by ${by}`, { scope, mark: 10 })),
        ),
      )
      const made = answers.filter((answer) => answer !== 'stale' && !answer.isCached)
      same('runs', made.length, scopes.length)
      same(
        'marks',
        await marks(s, scopes),
        scopes.map(() => 10),
      )
    },
  },
  {
    id: 'runs.insert/mark-holds-its-key',
    law: 'For an insert with a mark the key holds for as long as its run is kept, also when it has expired.',
    async check(s) {
      await insert(s, 'first', { mark: 10 })
      like('later', await insert(s, 'second', { mark: 10, now: 5_000 }), {
        isCached: true,
        record: { id: 'first' },
      })
      await s.update({ id: 'first' }, { status: 'CANCELED' })
      like('when it is over', await insert(s, 'third', { mark: 10, now: 9_000 }), { isCached: true })
    },
  },
]
