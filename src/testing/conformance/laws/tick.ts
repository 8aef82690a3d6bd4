import type { LeaseRecord } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { A, B, idsOf, namesOf } from '../subject.ts'

/** Laws of `tick`, the regular look of an engine at its storage. */
export const tickLaws: readonly Law[] = [
  {
    id: 'tick/hands-ready-waits-over-until-released',
    law: 'Every tick hands over all ready waits of the owner, until they are released.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('t')
      await s.wait(run, 't')
      await s.settle('t')
      same('the first tick', namesOf((await s.tick()).ready), [`t r ${A}`])
      same('the second tick', namesOf((await s.tick()).ready), [`t r ${A}`])
      await s.storage.tokens.release([{ tokenId: 't', runId: 'r', owner: A }])
      same('after the release', namesOf((await s.tick()).ready), [])
    },
  },
  {
    id: 'tick/settles-what-is-due',
    law: 'A tick settles tokens past their deadlines, and hands over the waits that became ready by it.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('t', { timeoutAt: s.at(10) })
      await s.wait(run, 't')
      same('a tick before', idsOf((await s.tick(A, 9)).settled), [])
      const ticked = await s.tick(A, 10)
      like('what it settled', ticked.settled, [{ id: 't', status: 'TIMED_OUT', completedAt: s.at(10) }])
      same('the waits it hands over', namesOf(ticked.ready), [`t r ${A}`])
    },
  },
  {
    id: 'tick/settles-at-most-limit',
    law: 'One tick settles at most the given number of records; the next one continues.',
    async check(s) {
      for (const id of ['a', 'b', 'c']) await s.insertToken(id, { timeoutAt: s.at(10) })
      const first = await s.tick(A, 20, { limit: 2 })
      same('the first tick', first.settled.length, 2)
      for (const id of ['x', 'y', 'z']) await s.insertRun(id, { expiresAt: s.at(10) })
      const second = await s.tick(A, 20, { limit: 2 })
      same('both ticks', idsOf([...first.settled, ...second.settled]).sort(), ['a', 'b', 'c'])
      same('tokens and runs of the second tick', second.settled.length + second.expired.length, 2)
      const third = await s.tick(A, 20, { limit: 1 })
      same('the third tick', third.expired.length, 1)
    },
  },
  {
    id: 'tick/tells-once',
    law: 'A tick lists only the tokens it settled itself.',
    async check(s) {
      await s.insertToken('a', { timeoutAt: s.at(10) })
      await s.insertToken('b', { timeoutAt: s.at(10) })
      await s.settle('a', 10)
      same('the first tick', idsOf((await s.tick(A, 10)).settled), ['b'])
      same('the second tick', idsOf((await s.tick(A, 11)).settled), [])
    },
  },
  {
    id: 'tick/expires-what-never-started',
    law: 'A tick makes runs that never started EXPIRED at their expiresAt, and answers them with their waits.',
    async check(s) {
      const parent = await s.start('parent')
      await s.insertRun('r', { expiresAt: s.at(10) })
      await s.wait(parent, 'run:r')
      const { expired } = await s.tick(A, 15)
      like('what expired', expired, [{ record: { id: 'r', status: 'EXPIRED', finishedAt: s.at(10) } }])
      same('its waits', namesOf(expired[0]?.ready ?? []), [`run:r parent ${A}`])
      same('what expires later', (await s.tick(A, 16)).expired, [])
    },
  },
  {
    id: 'tick/claimable',
    law: 'A tick reports claimable when a claim would find a run.',
    async check(s) {
      await s.insertRun('r')
      like('with a queued run', await s.tick(), { claimable: true })
      await s.claim()
      await s.insertRun('delayed', { status: 'DELAYED', wakeAt: s.at(10) })
      like('when a delayed run is due', await s.tick(A, 10), { claimable: true })
      const [delayed] = (await s.claim({ now: 10 })).runs
      if (delayed !== undefined) await s.update(delayed, { status: 'EXECUTING', owner: undefined }, 12)
      like('when that run is handed back', await s.tick(A, 13), { claimable: true })
    },
  },
  {
    id: 'tick/nothing-claimable',
    law: 'A tick does not report claimable when no run waits for execution.',
    async check(s) {
      like('without a run', await s.tick(), { claimable: false })
      await s.start('r')
      like('when all runs are held', await s.tick(), { claimable: false })
    },
  },
  {
    id: 'tick/next-due',
    law: 'nextDue is the next deadline of a token, wakeAt or expiresAt of a run.',
    async check(s) {
      same('with nothing due', (await s.tick()).nextDue, undefined)
      await s.insertToken('t', { timeoutAt: s.at(30) })
      same('with a token', (await s.tick()).nextDue, { at: s.at(30), what: 'token t' })
      await s.insertRun('expiring', { expiresAt: s.at(20) })
      same('with a run that may expire', (await s.tick()).nextDue?.at, s.at(20))
      await s.insertRun('delayed', { status: 'DELAYED', wakeAt: s.at(10) })
      same('with a delayed run', (await s.tick()).nextDue, { at: s.at(10), what: 'run delayed' })
      same('when that run is due', (await s.tick(A, 10)).nextDue?.at, s.at(20))
      const canceled = await s.start('canceled')
      await s.update(canceled, { status: 'CANCELED', slot: true, slotUntil: s.at(15) })
      same('with a slot that ends', (await s.tick(A, 10)).nextDue?.at, s.at(15))
    },
  },
  {
    id: 'tick/next-due-forgets-what-is-settled',
    law: 'Settled tokens, and runs that started or ended, are no longer due.',
    async check(s) {
      await s.insertToken('t', { timeoutAt: s.at(30) })
      await s.insertRun('r', { expiresAt: s.at(20) })
      await s.insertRun('soon', { status: 'DELAYED', wakeAt: s.at(40), taskId: 'other' })
      await s.tick()
      await s.claim()
      await s.settle('t')
      await s.update({ id: 'soon' }, { status: 'QUEUED' })
      same('the next tick', (await s.tick()).nextDue, undefined)
    },
  },
  {
    id: 'due/lists-what-is-next',
    law: 'due lists deadlines of tokens and instants of runs, the earliest first, at most limit, without what is settled.',
    optional: '`due`',
    async check(s) {
      const { due } = s.storage
      if (due === undefined) return
      for (const at of [50, 20, 40, 10, 30]) await s.insertToken(`t${at}`, { timeoutAt: s.at(at) })
      await s.insertToken('endless', { kind: 'ONCE', timeoutAt: undefined })
      await s.insertRun('delayed', { status: 'DELAYED', wakeAt: s.at(25) })
      await s.insertRun('expiring', { expiresAt: s.at(45) })
      await s.settle('t20')
      const listed = async (limit: number): Promise<readonly string[]> =>
        (await due(limit)).map(({ at, what }) => `${at - s.origin} ${what}`)
      const all = ['10 token t10', '25 run delayed', '30 token t30', '40 token t40', '45 run expiring']
      same('all', await listed(10), [...all, '50 token t50'])
      same('at most three', await listed(3), all.slice(0, 3))
    },
  },
  {
    id: 'tick/census',
    law: 'A tick that is asked for a census, and answers one, counts the runs that its owner holds.',
    optional: '`held` of what `tick` answers',
    async check(s) {
      const counted = async (): Promise<number | undefined> =>
        (await s.tick(A, 0, { leaseUntil: s.at(1_000), census: true })).held
      const before = await counted()
      if (before === undefined) return
      same('while it holds none', before, 0)
      await s.start('r')
      await s.startParked('parked', 't')
      await s.insertRun('queued')
      same('while it executes one run and has parked one', await counted(), 2)
    },
  },
  {
    id: 'leases/lists-engines',
    law: 'leases lists each engine that has not left, with the end of its lease and its last tick, as far as they are known.',
    optional: '`leases`',
    async check(s) {
      const { leases } = s.storage
      if (leases === undefined) return
      const listed = async (): Promise<readonly LeaseRecord[]> =>
        [...(await leases())].sort((one, other) => (one.owner < other.owner ? -1 : 1))
      await s.tick(A, 1, { leaseUntil: s.at(1_000) })
      await s.tick(B, 5, { leaseUntil: s.at(100) })
      await s.tick(B, 7, { leaseUntil: s.at(107) })
      const both = await listed()
      like('two engines', both, [
        { owner: A, isLost: false },
        { owner: B, isLost: false, until: s.at(107) },
      ])
      const [, { heardAt } = {}] = both
      if (heardAt !== undefined) same('the last tick', heardAt, s.at(7))
      await s.leave(B, 9)
      await s.tick('engine-c', 7, { leaseUntil: s.at(8) })
      await s.start('held', {}, 'engine-c')
      await s.tick(A, 8)
      const lost = (await listed()).find(({ owner }) => owner === 'engine-c')
      like('one that was lost', lost, { owner: 'engine-c', isLost: true })
      await s.leave('engine-c', 9)
      same(
        'after one has left',
        (await listed()).map(({ owner }) => owner),
        [A],
      )
    },
  },
  {
    id: 'tick/next-lease',
    law: "nextLease is the earliest end of another owner's lease with runs.",
    async check(s) {
      await s.tick(B, 0, { leaseUntil: s.at(100) })
      same('while it holds none', (await s.tick()).nextLease, undefined)
      await s.start('r', {}, B)
      same('while it holds one', (await s.tick()).nextLease, { at: s.at(100), what: `lease ${B}` })
      same('as that owner sees it', (await s.tick(B, 0, { leaseUntil: s.at(100) })).nextLease, undefined)
    },
  },
]
