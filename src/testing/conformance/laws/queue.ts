import type { QueueChange, QueueSettings, QueueStore } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { A, B, idsOf, type Subject } from '../subject.ts'
import { heard } from './hint.ts'

interface QueueLaw extends Omit<Law, 'check'> {
  readonly check: (queues: QueueStore, subject: Subject) => Promise<void>
}

const MAIL = { queue: 'mail' }
const ONE = new Map([['mail', 1]])

const laws: readonly QueueLaw[] = [
  {
    id: 'queues.set/changes-what-is-given',
    law: 'A change sets what is given of one queue, answers what is set then, and leaves the rest; a limit of null is none.',
    async check(queues, s) {
      like('nothing', await queues.get('b'), { name: 'b', isPaused: false, slots: 0, refused: 0 })
      await set(s, { name: 'a', isPaused: true })
      const limited = { name: 'b', isPaused: false, limit: 3, limitedAt: s.at(1) }
      same('a limit', await set(s, { name: 'b', limit: 3 }, 1), limited)
      const paused = { ...limited, isPaused: true }
      same('a pause beside it', await set(s, { name: 'b', isPaused: true }, 2), paused)
      like('both', await queues.get('b'), { ...paused, slots: 0, refused: 0 })
      same('all', await queues.list(), [{ name: 'a', isPaused: true }, paused])
      const reset = { name: 'b', isPaused: true }
      same('no limit', await set(s, { name: 'b', limit: null }, 3), reset)
      same('no pause', await set(s, { name: 'a', isPaused: false }, 3), { name: 'a', isPaused: false })
      same('what is left', await queues.list(), [reset])
      same('none at all', await set(s, { name: 'b', limit: 0, isPaused: false }, 4), {
        ...limited,
        limit: 0,
        limitedAt: s.at(4),
      })
    },
  },
  {
    id: 'queues.set/pauses',
    law: 'While a queue is paused none of its runs gets a slot, by a claim or a resume. Runs that hold one keep it, also when their owner is gone.',
    async check(_, s) {
      await s.tick(B)
      const parked = await s.startParked('parked', 't', B)
      const held = await s.start('held', {}, B)
      await s.insertRun('queued', {}, 1)
      await s.insertRun('delayed', { status: 'DELAYED', wakeAt: s.at(2) }, 1)
      await s.insertRun('other', { queue: 'other' }, 3)
      await set(s, { name: 'queue', isPaused: true }, 3)
      await s.settle('t', 4)
      same('a resume', await s.storage.runs.resume({ ...s.fenceOf(parked, 5), queueLimit: 9 }), FULL)
      const queueLimits = new Map([['queue', 9]])
      same('a claim', idsOf((await s.claim({ now: 5, queueLimits })).runs), ['other'])
      like('the update of one that holds a slot', await s.update(held, { metadataJson: '{}' }, 6), {
        record: { status: 'EXECUTING', slot: true },
      })
      await s.leave(B, 7)
      same('a claim after its owner', idsOf((await s.claim({ now: 8 })).runs), ['held'])
      await set(s, { name: 'queue', isPaused: false }, 9)
      same('when it is resumed', idsOf((await s.claim({ now: 9 })).runs), ['parked', 'queued', 'delayed'])
    },
  },
  {
    id: 'queues.set/limits',
    law: 'A limit that is set counts instead of that of a claim or a resume, for each concurrency key, whether it is higher, lower or the only one.',
    async check(_, s) {
      for (const id of ['a', 'b', 'c', 'd']) await s.insertRun(id, MAIL)
      await s.insertRun('keyed', { ...MAIL, concurrencyKey: 'k' })
      await set(s, { name: 'mail', limit: 2 })
      same('a higher one', idsOf((await s.claim({ queueLimits: ONE })).runs), ['a', 'b', 'keyed'])
      same('the same without another', idsOf((await s.claim()).runs), [])
      await set(s, { name: 'mail', limit: 3 })
      const { runs } = await s.claim()
      same('one more', idsOf(runs), ['c'])
      await set(s, { name: 'mail', limit: 2 })
      const [run] = runs
      if (run === undefined) return
      await s.storage.runs.park(s.fenceOf(run))
      same('a resume beyond a lower one', await s.storage.runs.resume(s.fenceOf(run)), FULL)
      await set(s, { name: 'mail', limit: null })
      same('that of the claim again', idsOf((await s.claim({ queueLimits: ONE })).runs), [])
      same('that of the resume', await s.storage.runs.resume({ ...s.fenceOf(run), queueLimit: 2 }), FULL)
      like('none again', await s.storage.runs.resume(s.fenceOf(run)), { outcome: 'resumed' })
      same('for a claim too', idsOf((await s.claim()).runs), ['d'])
    },
  },
  {
    id: 'queues.get/counts-slots',
    law: 'The state of a queue counts the runs that hold a slot, under all concurrency keys, and those that were refused one.',
    async check(queues, s) {
      await s.insertRun('keyed', { ...MAIL, concurrencyKey: 'k' })
      await s.insertRun('plain', MAIL)
      await s.insertRun('other', { queue: 'mails' })
      const { runs } = await s.claim()
      like('three', await queues.get('mail'), { slots: 2, refused: 0 })
      await set(s, { name: 'mail', limit: 0 })
      for (const run of runs) {
        await s.storage.runs.park(s.fenceOf(run))
        await s.storage.runs.resume(s.fenceOf(run))
      }
      like('refused', await queues.get('mail'), { slots: 0, refused: 2 })
      like('of another', await queues.get('mails'), { slots: 1, refused: 0 })
      await set(s, { name: 'mail', limit: 1 })
      for (const run of runs) await s.storage.runs.resume(s.fenceOf(run))
      like('resumed, each under its key', await queues.get('mail'), { slots: 2, refused: 0 })
    },
  },
  {
    id: 'queues.set/holds-back-claims',
    law: 'A claim says that runs were left because their queue is full, and does not say so where none is in line.',
    async check(_, s) {
      await set(s, { name: 'mail', limit: 1 })
      same('no run', (await s.claim()).isHeldBack ?? false, false)
      for (const id of ['a', 'b']) await s.insertRun(id, MAIL)
      same('one left', (await s.claim()).isHeldBack, true)
      await s.insertRun('other')
      same('others taken', (await s.claim()).isHeldBack, true)
    },
  },
  {
    id: 'queues.set/stale-fence',
    law: 'An attempt that no longer holds its run sets nothing of a queue: stale.',
    async check(queues, s) {
      const run = await s.start('writer')
      const fence = { runId: run.id, epoch: run.epoch }
      const change = { name: 'mail', limit: 3 }
      same(
        'an earlier epoch',
        await set(s, { ...change, fence: { ...fence, epoch: run.epoch - 1 } }),
        'stale',
      )
      same('another owner', await set(s, { ...change, fence, by: B }), 'stale')
      same(
        'a run that is not there',
        await set(s, { ...change, fence: { ...fence, runId: 'none' } }),
        'stale',
      )
      same('what is set', await queues.list(), [])
      like('the right fence', await set(s, { ...change, fence }), { limit: 3 })
      await s.update(run, { status: 'COMPLETED' })
      same('a run that is over', await set(s, { ...change, isPaused: true, fence }), 'stale')
      like('what is set then', await queues.list(), [{ name: 'mail', isPaused: false, limit: 3 }])
    },
  },
  {
    id: 'queues.set/is-seen-by-every-claim',
    law: 'Once a change is answered, no claim that is under way gives a run a slot beyond it.',
    async check(queues, s) {
      const owners = [A, B, 'engine-c', 'engine-d']
      for (const owner of owners) await s.tick(owner)
      for (let round = 0; round < ROUNDS; round += 1) {
        const name = `queue ${round}`
        for (let at = 0; at < owners.length; at += 1) await s.insertRun(`run ${round} ${at}`, { queue: name })
        const claims = owners.map((by) => s.claim({ by, limit: 1 }))
        await set(s, { name, isPaused: true })
        const { slots } = await queues.get(name)
        await Promise.all(claims)
        same('slots when all claims are answered', (await queues.get(name)).slots, slots)
        await set(s, { name, isPaused: false })
        for (const by of owners) await s.claim({ by })
      }
    },
  },
  {
    id: 'subscribe/tells-of-queues',
    law: 'A change of a queue is hinted to other owners as `queue`.',
    capability: 'hints',
    async check(_, s) {
      await s.tick(B)
      await heard(s, B, { act: () => set(s, { name: 'a', limit: 2 }), expected: 'queue' })
    },
  },
]

const FULL = { outcome: 'full' } as const
const ROUNDS = 5

/** Laws of `queues`. A storage that has none breaks none of them. */
export const queueLaws: readonly Law[] = laws.map((law) => ({
  ...law,
  optional: '`queues`',
  async check(s) {
    if (s.storage.queues !== undefined) await law.check(s.storage.queues, s)
  },
}))

async function set(
  { storage, origin }: Subject,
  change: Omit<QueueChange, 'by' | 'now'> & Partial<Pick<QueueChange, 'by'>>,
  now = 0,
): Promise<QueueSettings | 'stale' | undefined> {
  return storage.queues?.set({ by: A, ...change, now: origin + now })
}
