import type { QueueRate, RunClaim } from '../../../contract/storage.ts'
import type { RunRecord } from '../../../contract/records.ts'
import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { A, B, idsOf, type Subject } from '../subject.ts'

const MAIL = { queue: 'mail' }

const laws: readonly Law[] = [
  {
    id: 'rates/bound-starts',
    law: 'No more runs of a queue start in any perMs milliseconds than its rate says; a claim answers when it finds the next one.',
    async check(s) {
      const claim = claiming(s, { limit: 3, perMs: 100 })
      await insert(s, ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
      same('one slot', await claim(0, { limit: 1 }), { runs: ['a'] })
      same('two later', await claim(60), { runs: ['b', 'c'], nextStartAt: s.at(100) })
      same('before the first is over', await claim(99), { runs: [], nextStartAt: s.at(100) })
      same('when it is over', await claim(100), { runs: ['d'], nextStartAt: s.at(160) })
      same('before the others are over', await claim(159), { runs: [], nextStartAt: s.at(160) })
      same('long after', await claim(1_000), { runs: ['e', 'f', 'g'] })
    },
  },
  {
    id: 'rates/of-each-key',
    law: 'A rate counts for each concurrency key on its own, and for no other queue.',
    async check(s) {
      const claim = claiming(s, { limit: 1, perMs: 100 })
      for (const concurrencyKey of [undefined, 'k', 'l'])
        for (const place of [1, 2])
          await s.insertRun(`${concurrencyKey ?? 'none'} ${place}`, { ...MAIL, concurrencyKey })
      await s.insertRun('other 1', { queue: 'mails' })
      await s.insertRun('other 2', { queue: 'mails' })
      const first = ['none 1', 'k 1', 'l 1', 'other 1', 'other 2']
      same('one of each', await claim(0), { runs: first, nextStartAt: s.at(100) })
      same('the next of each', await claim(100), { runs: ['none 2', 'k 2', 'l 2'] })
    },
  },
  {
    id: 'rates/count-what-starts',
    law: 'Retries count as starts. A run that goes on is neither counted nor held back, be it interrupted, handed back or parked.',
    async check(s) {
      const claim = claiming(s, { limit: 2, perMs: 100 })
      await s.tick(B)
      await insert(s, ['interrupted', 'parked'])
      same('the first two', await claim(0, { by: B }), { runs: ['interrupted', 'parked'] })
      await s.insertToken('t')
      const parked = (await s.storage.runs.get('parked')) as RunRecord
      await s.wait(parked, 't', 1)
      await s.storage.runs.park(s.fenceOf(parked, 1))
      await s.settle('t', 2)
      await s.leave(B, 3)
      await insert(s, ['new'], 4)
      same('those that go on', await claim(5), { runs: ['interrupted', 'parked'], nextStartAt: s.at(100) })
      const retried = (await s.storage.runs.get('interrupted')) as RunRecord
      await s.update(retried, { status: 'DELAYED', wakeAt: s.at(6) }, 6)
      same('before it is over', await claim(99), { runs: [], nextStartAt: s.at(100) })
      await insert(s, ['newer'], 99)
      same('a retry beside a new run', await claim(100), {
        runs: ['new', 'interrupted'],
        nextStartAt: s.at(200),
      })
    },
  },
  {
    id: 'rates/hold-back-no-others',
    law: 'Runs that a rate holds back stay QUEUED, expire in time, and keep no run of another queue from its claim.',
    async check(s) {
      const claim = claiming(s, { limit: 1, perMs: 100 })
      await insert(s, ['a', 'b'])
      await s.insertRun('expires', { ...MAIL, expiresAt: s.at(50) })
      await s.insertRun('other')
      same('another queue', await claim(0), { runs: ['a', 'other'], nextStartAt: s.at(100) })
      like('the one behind', await s.storage.runs.get('b'), { status: 'QUEUED', attempt: 0, slot: false })
      await s.tick(A, 50)
      like('one with a ttl', await s.storage.runs.get('expires'), { status: 'EXPIRED' })
      same('the next', await claim(100), { runs: ['b'] })
    },
  },
  {
    id: 'rates/clock-set-back',
    law: 'A clock that is set back makes no room for more starts.',
    async check(s) {
      const claim = claiming(s, { limit: 2, perMs: 100 })
      await insert(s, ['a', 'b', 'c', 'd', 'e'])
      same('one', await claim(150, { limit: 1 }), { runs: ['a'] })
      same('set back', await claim(20), { runs: ['b'], nextStartAt: s.at(250) })
      same('further', await claim(0), { runs: [], nextStartAt: s.at(250) })
      same('after the instant of the second', await claim(120), { runs: [], nextStartAt: s.at(250) })
      same('after the first', await claim(250), { runs: ['c', 'd'], nextStartAt: s.at(350) })
    },
  },
  {
    id: 'rates/count-once',
    law: 'A claim that comes too late counts nothing, nor does a muster, a trial, or one without a live lease.',
    async check(s) {
      const claim = claiming(s, { limit: 2, perMs: 100 })
      await insert(s, ['a', 'b', 'c'])
      same('a claim', await claim(0, { number: 70, limit: 1 }), { runs: ['a'] })
      like('too late', await claim(1, { number: 70 }), { runs: [] })
      like('a muster', await claim(1, { number: 71, limit: 0 }), { runs: ['a'] })
      like('without a lease', await claim(1, { by: B, number: 1 }), { runs: [] })
      like('a trial', await claim(1, { number: 72, isTrial: true }), { runs: [] })
      same('the next', await claim(1, { number: 73 }), { runs: ['b'], nextStartAt: s.at(100) })
    },
  },
  {
    id: 'rates/of-many-starts',
    law: 'Starts that are counted under a rate above 100 are over when perMs have gone by, and at most a hundredth of that later.',
    async check(s) {
      const many = claiming(s, { limit: 101, perMs: 1_000 })
      const claim = claiming(s, { limit: 3, perMs: 1_000 })
      await insert(s, ['a', 'b', 'c', 'd', 'e', 'f'])
      for (const now of [0, 3, 6]) same(`at ${now}`, (await many(now, { limit: 1 })).runs.length, 1)
      const { runs, nextStartAt = 0 } = await claim(999)
      same('too early', runs, [])
      same('in time', nextStartAt >= s.at(1_000) && nextStartAt <= s.at(1_010), true)
      const started = (await claim(1_005)).runs.length
      same('no more than are over', started <= 2, true)
      same('all that are over', started + (await claim(1_016)).runs.length, 3)
    },
  },
  {
    id: 'rates/over-all-owners',
    law: 'Claims that are made at once start no more runs together than one would.',
    async check(s) {
      const owners = [A, B, 'engine-c', 'engine-d']
      for (const owner of owners) await s.tick(owner)
      for (let round = 0; round < ROUNDS; round += 1) {
        const queue = `queue ${round}`
        for (let at = 0; at < 8; at += 1) await s.insertRun(`run ${round} ${at}`, { queue })
        const queueRates = new Map([[queue, { limit: 5, perMs: 100 }]])
        const claimed = await Promise.all(owners.map((by) => s.claim({ by, limit: 3, queueRates })))
        const started = new Set(claimed.flatMap(({ runs }) => idsOf(runs)))
        // How many each claim finds beside the others is not said.
        same(`at most 5 starts in round ${round}`, started.size <= 5, true)
        await s.claim({ now: 100 })
      }
    },
  },
  {
    id: 'rates/that-are-set',
    law: 'A rate that is set of a queue counts instead of that of a claim; what has started counts again when it is set anew.',
    async check(s) {
      const { queues } = s.storage
      if (queues === undefined) return
      const set = async (rate: QueueRate | null, now: number): Promise<unknown> =>
        queues.set({ name: 'mail', rate, now: s.at(now), by: A })
      const claim = claiming(s, { limit: 2, perMs: 100 })
      await insert(s, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
      const rate = { limit: 1, perMs: 1_000 }
      const after = { name: 'mail', isPaused: false, rate, ratedAt: s.at(0) }
      same('what is set', await set(rate, 0), after)
      same('all that is set', await queues.list(), [after])
      same('a claim', await claim(0), { runs: ['a'], nextStartAt: s.at(1_000) })
      const limited = { ...after, limit: 9, limitedAt: s.at(1) }
      same('a limit beside it', await queues.set({ name: 'mail', limit: 9, now: s.at(1), by: A }), limited)
      const starts = [{ at: s.at(0), count: 1 }]
      same('all of it', await queues.get('mail'), { ...limited, slots: 1, refused: 0, starts })
      like('under a key', await queues.get('mail', 'k'), { starts: [] })
      await queues.set({ name: 'mail', limit: null, now: s.at(1), by: A })
      await set({ limit: 2, perMs: 1_000 }, 10)
      same('a higher one', await claim(10), { runs: ['b'], nextStartAt: s.at(1_000) })
      same('none', await set(null, 11), { name: 'mail', isPaused: false })
      same('that of the claim', await claim(100), { runs: ['c'], nextStartAt: s.at(110) })
      await set({ limit: 3, perMs: 1_000 }, 101)
      like('one that is set anew', await claim(105), { nextStartAt: s.at(1_010) })
      await set(null, 106)
      same('none at all', (await s.claim({ now: 106, limit: 3 })).runs.length, 3)
    },
  },
]

const ROUNDS = 5

/** Laws of a storage with `rates`. */
export const rateLaws: readonly Law[] = laws.map((law) => ({
  ...law,
  optional: '`rates`',
  async check(s, another) {
    if (s.storage.rates === true) await law.check(s, another)
  },
}))

interface Started {
  readonly runs: readonly string[]
  readonly nextStartAt?: number
}

/** Claims at an instant under a rate of the queue `mail`, and says what matters of the answer. */
function claiming(
  s: Subject,
  rate: QueueRate,
): (now: number, fields?: Partial<RunClaim>) => Promise<Started> {
  const queueRates = new Map([[MAIL.queue, rate]])
  return async (now, fields = {}) => {
    const { runs, nextStartAt } = await s.claim({ now, queueRates, ...fields })
    return { runs: idsOf(runs), ...(nextStartAt === undefined ? {} : { nextStartAt }) }
  }
}

async function insert(s: Subject, ids: readonly string[], now = 0): Promise<void> {
  for (const id of ids) await s.insertRun(id, MAIL, now)
}
