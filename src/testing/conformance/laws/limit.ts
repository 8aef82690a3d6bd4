import type { RunRecord } from '../../../contract/records.ts'
import type { RunClaim, RunLimit, RunResumed } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { A, B, idsOf, type Subject } from '../subject.ts'

const P = { limits: ['p'] }
const BOTH = { limits: ['p', 'q'] }

const laws: readonly Law[] = [
  {
    id: 'limits/total',
    law: 'No more runs with a limit hold a slot than its total, over all tasks, queues and keys. Others are claimed.',
    async check(s) {
      await s.insertRun('a', P)
      await s.insertRun('b', { ...P, queue: 'b' })
      await s.insertRun('c', { ...P, concurrencyKey: 'k' })
      await s.insertRun('d', { ...P, taskId: 'other' })
      await s.insertRun('e', { limits: ['q'] })
      await s.insertRun('f')
      const claim = claiming(s, { p: { total: 2 } })
      same('two and the others', await claim(), ['a', 'b', 'e', 'f'])
      same('no more', await claim(), [])
      same('no more of another task', await claim({ taskIds: ['other'] }), [])
      same('a higher total', await claiming(s, { p: { total: 4 } })({ taskIds: ['task', 'other'] }), [
        'c',
        'd',
      ])
    },
  },
  {
    id: 'limits/per-key',
    law: 'A limit for each key counts the runs of one key, and those without one, over all queues, beside its total.',
    async check(s) {
      for (const [at, concurrencyKey] of [undefined, 'k', 'l'].entries())
        for (const queue of ['a', 'b']) await s.insertRun(`${at}${queue}`, { ...P, queue, concurrencyKey })
      same('one of each', await claiming(s, { p: { perKey: 1 } })(), ['0a', '1a', '2a'])
      const claim = claiming(s, { p: { total: 4, perKey: 2 } })
      same('one more over all', await claim(), ['0b'])
      same('none beyond', await claim(), [])
    },
  },
  {
    id: 'limits/all-or-none',
    law: 'A claim gives a run a slot in its queue and in each of its limits, or none at all.',
    async check(s) {
      await s.start('held', { limits: ['q'] })
      for (const id of ['both 1', 'both 2']) await s.insertRun(id, BOTH)
      await s.insertRun('p only', P)
      await s.insertRun('mail 1', { ...P, queue: 'mail' })
      await s.insertRun('mail 2', { ...P, queue: 'mail' })
      const limits = { p: { total: 2 }, q: { total: 1 } }
      const claim = claiming(s, limits, { queueLimits: new Map([['mail', 1]]) })
      same('those that find all', await claim(), ['p only', 'mail 1'])
      await s.update({ id: 'mail 1' }, { status: 'COMPLETED' })
      same('the next with all', await claim(), ['mail 2'])
      await s.update({ id: 'held' }, { status: 'COMPLETED' })
      same('none in the other', await claim(), [])
      await s.update({ id: 'p only' }, { status: 'COMPLETED' })
      same('one in both', await claim(), ['both 1'])
    },
  },
  {
    id: 'limits/free-all',
    law: 'A run that parks, ends, is retried or handed back gives back its slots in all of its limits.',
    async check(s) {
      const claim = claiming(s, { p: { total: 1 }, q: { perKey: 1 } })
      const runs: RunRecord[] = []
      for (const id of ['parks', 'ends', 'retries', 'handed']) {
        await s.insertRun(id, BOTH)
        await s.insertRun(`behind ${id}`, P)
        await s.insertRun(`beside ${id}`, { limits: ['q'], queue: 'b' })
        same(`one at a time: ${id}`, await claim(), [id])
        const run = await s.storage.runs.get(id)
        if (run === undefined) return
        runs.push(run)
        if (id === 'parks') await s.storage.runs.park(s.fenceOf(run))
        else if (id === 'ends') await s.update(run, { status: 'CANCELED' })
        else if (id === 'retries') await s.update(run, { status: 'DELAYED', wakeAt: s.at(900) })
        else await s.update(run, { owner: undefined, status: 'EXECUTING', returned: true })
        const others = await claim({ taskIds: ['task'], limit: 5 })
        same(`both after it: ${id}`, others.filter((one) => one !== 'handed').sort(), [
          `behind ${id}`,
          `beside ${id}`,
        ])
        for (const one of others) await s.update({ id: one }, { status: 'COMPLETED' })
      }
    },
  },
  {
    id: 'limits/resume',
    law: 'A resume takes a slot in each limit of the run, or none, and says in which one there was none.',
    async check(s) {
      const run = await parked(s, 'parked', { ...BOTH, concurrencyKey: 'k' })
      const holder = await s.start('holder', { limits: ['q'], concurrencyKey: 'k' })
      const resume = resuming(s, { p: { total: 1 }, q: { perKey: 1 } })
      same('one is full', await resume(run), { outcome: 'full', pool: '+1:qk' })
      same('a total', await resuming(s, { q: { total: 1 } })(run), { outcome: 'full', pool: '=q' })
      same('its queue', await resume(run, 1), { outcome: 'full' })
      await s.update(holder, { status: 'COMPLETED' })
      like('none is', await resume(run), { outcome: 'resumed', record: { slot: true, limits: ['p', 'q'] } })
      await s.insertRun('p', P)
      await s.insertRun('q', { limits: ['q'], concurrencyKey: 'k' })
      same('both are taken', await claiming(s, { p: { total: 1 }, q: { perKey: 1 } })(), [])
    },
  },
  {
    id: 'limits/refused-first',
    law: 'No new run gets a slot that a run needs whose resume was refused, in any of its limits, until that run has got them or is over.',
    async check(s) {
      const run = await parked(s, 'parked', BOTH)
      const holder = await s.start('holder', { limits: ['q'] })
      const limits = { p: { total: 1 }, q: { total: 1 } }
      const [claim, resume] = [claiming(s, limits), resuming(s, limits)]
      like('refused', await resume(run), { outcome: 'full' })
      await s.insertRun('of p', P)
      await s.insertRun('of q', { limits: ['q'] })
      same('not the one that is free', await claim(), [])
      await s.update(holder, { status: 'COMPLETED' })
      same('not the one that became free', await claim(), [])
      like('its turn', await resume(run), { outcome: 'resumed' })
      await s.update(run, { status: 'COMPLETED' })
      same('then the others', await claim(), ['of p', 'of q'])
      for (const id of ['of p', 'of q']) await s.update({ id }, { status: 'COMPLETED' })
      const other = await parked(s, 'other', BOTH)
      await s.start('of q later', { limits: ['q'] })
      like('refused', await resume(other), { outcome: 'full' })
      await s.insertRun('of p later', P, 2)
      same('one is free', await claim(), [])
      await s.update(other, { status: 'CANCELED' })
      same('it is over', await claim(), ['of p later'])
    },
  },
  {
    id: 'limits/next-in-line',
    law: 'A slot that a run gives back goes to the first run in line that can have it, whatever its queue and its key, and a claim says that it left runs.',
    async check(s) {
      const limits = { p: { total: 1 }, q: { total: 1 } }
      const claim = claiming(s, limits)
      await s.start('holds p', P)
      await s.start('holds q', { limits: ['q'] })
      for (const key of ['a', 'b', 'c']) await s.insertRun(`both ${key}`, { ...BOTH, concurrencyKey: key })
      await s.insertRun('p 1', { ...P, queue: 'one' }, 1)
      await s.insertRun('p 2', { ...P, queue: 'two', taskId: 'other' }, 2)
      const { runs, isHeldBack } = await s.claim({ limits: new Map(Object.entries(limits)) })
      same('what is left', [idsOf(runs), isHeldBack], [[], true])
      await s.update({ id: 'holds p' }, { status: 'COMPLETED' })
      same('one that needs no other', await claim(), ['p 1'])
      await s.update({ id: 'p 1' }, { status: 'COMPLETED' })
      same('one of another task', await claim({ taskIds: ['other'] }), ['p 2'])
      await s.update({ id: 'holds q' }, { status: 'COMPLETED' })
      await s.update({ id: 'p 2' }, { status: 'COMPLETED' })
      for (const key of ['a', 'b', 'c']) {
        same(`the next: ${key}`, await claim(), [`both ${key}`])
        await s.update({ id: `both ${key}` }, { status: 'COMPLETED' })
      }
    },
  },
  {
    id: 'limits/when-an-owner-dies',
    law: 'A run whose owner is gone keeps its slots until it is claimed again, which takes no others.',
    async check(s) {
      await s.tick(B)
      await s.start('held', BOTH, B)
      await s.insertRun('new', P)
      await s.leave(B, 1)
      const claim = claiming(s, { p: { total: 1 }, q: { total: 1 } })
      same('again', await claim({ now: 2 }), ['held'])
      await s.update({ id: 'held' }, { status: 'COMPLETED' })
      same('the next', await claim({ now: 3 }), ['new'])
    },
  },
  {
    id: 'limits/that-are-set',
    law: 'What is set of the name of a limit counts instead of what a claim says: for each key, or over all where only a total is declared. Its state counts its runs.',
    async check(s) {
      const { queues } = s.storage
      if (queues === undefined) return
      const set = async (change: { isPaused?: boolean; limit?: number | null }): Promise<unknown> =>
        queues.set({ name: 'p', ...change, now: s.at(0), by: A })
      for (const id of ['a', 'b', 'c', 'd', 'e']) await s.insertRun(id, { ...P, concurrencyKey: id })
      const claim = claiming(s, { p: { total: 4 } })
      await set({ isPaused: true })
      same('paused', await claim(), [])
      await set({ isPaused: false, limit: 1 })
      same('a total', await claim(), ['a'])
      await set({ limit: 2 })
      same('for each key, that is', await claiming(s, { p: { total: 3, perKey: 1 } })(), ['b', 'c'])
      like('its state', await queues.get('p'), { slots: 3, refused: 0 })
      await s.insertRun('a 2', { ...P, concurrencyKey: 'a' })
      same('two of a key', await claiming(s, { p: { perKey: 1 } })(), ['d', 'e', 'a 2'])
      const [first] = (await s.claim({ limit: 0 })).runs
      if (first === undefined) return
      await s.storage.runs.park(s.fenceOf(first))
      await set({ limit: 0 })
      like('a resume', await resuming(s, { p: { total: 9 } })(first), { outcome: 'full', pool: '=p' })
      like('its state', await queues.get('p'), { slots: 5, refused: 1 })
      await set({ limit: null })
      like('none is set', await resuming(s, { p: { total: 9 } })(first), { outcome: 'resumed' })
    },
  },
]

/** Laws of a storage with `limits`. */
export const limitLaws: readonly Law[] = laws.map((law) => ({
  ...law,
  optional: '`limits`',
  async check(s, another) {
    if (s.storage.limits === true) await law.check(s, another)
  },
}))

type Limits = Readonly<Record<string, RunLimit>>

/** Claims under these limits; answers what was claimed. */
function claiming(
  s: Subject,
  limits: Limits,
  fixed: Partial<RunClaim> = {},
): (fields?: Partial<RunClaim>) => Promise<readonly string[]> {
  return async (fields) =>
    idsOf((await s.claim({ limits: new Map(Object.entries(limits)), ...fixed, ...fields })).runs)
}

/** Resumes a run, under these limits and that of its queue. */
function resuming(s: Subject, limits: Limits): (run: RunRecord, queueLimit?: number) => Promise<RunResumed> {
  return async (run, queueLimit) => {
    const { id, epoch } = run
    const fence = { id, epoch, parks: 1, by: A, now: s.at(0) }
    return s.storage.runs.resume({ ...fence, queueLimit, limits: new Map(Object.entries(limits)) })
  }
}

/** A run that has parked, and waits for nothing more. */
async function parked(s: Subject, id: string, fields: Partial<RunRecord>): Promise<RunRecord> {
  const run = await s.start(id, fields)
  return (await s.storage.runs.park(s.fenceOf(run))) ?? run
}
