import type { RunRecord, TokenRecord } from '../../../contract/records.ts'
import type { Awaitable, RunInserted } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { manualToken, queuedRun } from '../sample-records.ts'
import { A, B, idsOf, type Subject } from '../subject.ts'

const YEAR_MS = 31_557_600_000

interface Kind {
  readonly full: (s: Subject) => RunRecord | TokenRecord
  readonly insert: (s: Subject, id: string, more: More) => Promise<unknown>
  readonly get: (s: Subject, id: string) => Promise<unknown>
}

interface More {
  readonly key?: { readonly scope: string; readonly value: string; readonly expiresAt?: number }
  readonly now?: number
  readonly fence?: { readonly runId: string; readonly epoch: number }
}

const TOKENS: Kind = {
  full: (s) =>
    manualToken('full', {
      createdAt: s.at(0),
      timeoutAt: s.at(500),
      tags: ['one', 'two'],
      runId: 'somebody',
      key: { scope: 'full', value: 'v', expiresAt: s.at(400) },
    }),
  insert: async (s, id, { key, now = 0, fence }) =>
    s.storage.tokens.insert({
      record: manualToken(id, { createdAt: s.at(now), key }),
      fence,
      now: s.at(now),
      by: A,
    }),
  get: async (s, id) => (await s.storage.tokens.get(id, s.at(0)))?.record,
}

const RUNS: Kind = {
  full: (s) => ({
    ...queuedRun('full', { createdAt: s.at(0), rootId: 'root', parentId: 'parent', queue: 'wide' }),
    status: 'DELAYED',
    wakeAt: s.at(500),
    expiresAt: s.at(600),
    payloadJson: '{"a":[1,null,"é"]}',
    optionsJson: '{"ttlMs":5}',
    metadataJson: '{}',
    concurrencyKey: 'customer',
    tags: ['one', 'two'],
    key: { scope: 'full', value: 'v', expiresAt: s.at(400) },
  }),
  insert: async (s, id, { key, now = 0, fence }) =>
    s.storage.runs.insert({
      record: queuedRun(id, { createdAt: s.at(now), key }),
      fence,
      now: s.at(now),
      by: A,
    }),
  get: async (s, id) => s.storage.runs.get(id),
}

function insertLawsOf(store: 'tokens' | 'runs'): readonly Law[] {
  const kind = store === 'tokens' ? TOKENS : RUNS
  const noun = store === 'tokens' ? 'token' : 'run'
  return [
    storedLaw(kind, { store, noun }),
    ...keyLaws(kind, { store, noun }),
    ...keyspaceLaws(kind, store),
    staleLaw(kind, { store, noun }),
  ]
}

interface Naming {
  readonly store: 'tokens' | 'runs'
  readonly noun: string
}

function storedLaw(kind: Kind, { store, noun }: Naming): Law {
  return {
    id: `${store}.insert/stored-as-given`,
    law: `A new ${noun} is stored with every field as given, and answered so; an unknown id has no record.`,
    async check(s) {
      const record = kind.full(s)
      const request = { record, now: s.at(0), by: A }
      const inserted =
        store === 'tokens'
          ? await s.storage.tokens.insert({ ...request, record: record as TokenRecord })
          : await s.storage.runs.insert({ ...request, record: record as RunRecord })
      same('the insert', inserted, { record, isCached: false })
      same('the record read back', await kind.get(s, 'full'), record)
      same('an unknown id', await kind.get(s, 'nobody'), undefined)
    },
  }
}

function keyLaws(kind: Kind, { store, noun }: Naming): readonly Law[] {
  return [
    {
      id: `${store}.insert/unexpired-key-answers-its-holder`,
      law: `An idempotency key that has not expired answers the ${noun} that holds it, and stores nothing.`,
      async check(s) {
        const key = { scope: 's', value: 'v', expiresAt: s.at(100) }
        await kind.insert(s, 'first', { key })
        const again = await kind.insert(s, 'second', { key: { ...key, expiresAt: s.at(900) }, now: 99 })
        like('the second insert', again, { isCached: true, record: { id: 'first', key } })
        same('the second record', await kind.get(s, 'second'), undefined)
      },
    },
    {
      id: `${store}.insert/expired-key-is-taken-over`,
      law: `From expiresAt on, a key creates a new ${noun}; the old record keeps its id and stays.`,
      async check(s) {
        const key = { scope: 's', value: 'v', expiresAt: s.at(100) }
        await kind.insert(s, 'first', { key })
        const next = { ...key, expiresAt: s.at(300) }
        like('the insert at expiresAt', await kind.insert(s, 'second', { key: next, now: 100 }), {
          isCached: false,
          record: { id: 'second' },
        })
        like('the old record', await kind.get(s, 'first'), { id: 'first', key })
        like('the next insert', await kind.insert(s, 'third', { key: next, now: 299 }), {
          isCached: true,
          record: { id: 'second' },
        })
      },
    },
  ]
}

function keyspaceLaws(kind: Kind, store: Naming['store']): readonly Law[] {
  return [
    {
      id: `${store}.insert/key-without-end`,
      law: `A key without expiresAt is valid as long as its record is kept.`,
      async check(s) {
        await kind.insert(s, 'first', { key: { scope: 's', value: 'v' } })
        const again = await kind.insert(s, 'second', { key: { scope: 's', value: 'v' }, now: 10 * YEAR_MS })
        like('the same key ten years later', again, { isCached: true, record: { id: 'first' } })
      },
    },
    {
      id: `${store}.insert/keys-have-scopes`,
      law: `A key in another scope, or of another kind of record, is a different key.`,
      async check(s) {
        await kind.insert(s, 'first', { key: { scope: 's', value: 'v' } })
        const other = await kind.insert(s, 'second', { key: { scope: 's2', value: 'v' } })
        like('the insert in another scope', other, { isCached: false, record: { id: 'second' } })
        const otherKind = store === 'tokens' ? RUNS : TOKENS
        const foreign = await otherKind.insert(s, 'third', { key: { scope: 's', value: 'v' } })
        like('the insert of another kind', foreign, { isCached: false, record: { id: 'third' } })
      },
    },
  ]
}

function staleLaw(kind: Kind, { store, noun }: Naming): Law {
  return {
    id: `${store}.insert/stale-fence`,
    law: `An attempt that no longer holds its run stores no ${noun}, and learns nothing about stored ones.`,
    async check(s) {
      const run = await s.start('writer')
      const key = { scope: 's', value: 'v' }
      await kind.insert(s, 'held', { key })
      const fence = { runId: run.id, epoch: run.epoch }
      like('with the right fence', await kind.insert(s, 'mine', { fence }), { isCached: false })
      same(
        'an earlier epoch',
        await kind.insert(s, 'x', { fence: { ...fence, epoch: run.epoch - 1 } }),
        'stale',
      )
      same(
        'a run that is not there',
        await kind.insert(s, 'x', { fence: { ...fence, runId: 'none' } }),
        'stale',
      )
      await s.update(run, { status: 'COMPLETED' })
      same('a run that is over', await kind.insert(s, 'x', { fence }), 'stale')
      same('a run that is over, and a key that is held', await kind.insert(s, 'x', { key, fence }), 'stale')
      same('the record', await kind.get(s, 'x'), undefined)
    },
  }
}

/** Laws of time, settings and new records, on which all other laws rest. */
export const insertLaws: readonly Law[] = [
  {
    id: 'time/no-own-clock',
    law: 'A storage never reads a clock: the instant of a call is its argument.',
    async check(s) {
      await s.insertToken('early', { timeoutAt: s.at(YEAR_MS) })
      like('a completion a second before the deadline', await s.settle('early', YEAR_MS - 1_000), {
        won: true,
      })
      await s.insertToken('late', { timeoutAt: s.at(YEAR_MS) })
      like('a completion a second after the deadline', await s.settle('late', YEAR_MS + 1_000), {
        won: false,
      })
    },
  },
  {
    id: 'settings.getOrInsert/first-candidate-stays',
    law: 'The first candidate of a name is stored, and answered to every later caller.',
    async check({ storage: { settings } }) {
      same('the first call', await settings.getOrInsert('secret', 'one'), 'one')
      same('a later call', await settings.getOrInsert('secret', 'two'), 'one')
      same('another name', await settings.getOrInsert('other', 'two'), 'two')
    },
  },
  ...insertLawsOf('tokens'),
  {
    id: 'tokens.insert/past-deadline-is-taken',
    law: 'A token inserted past its deadline is stored as given; the next read or tick settles it.',
    async check(s) {
      like('the insert', await s.insertToken('t', { timeoutAt: s.at(-1) }), {
        isCached: false,
        record: { status: 'WAITING' },
      })
      like('tokens settled by the next tick', (await s.tick()).settled, [{ id: 't', status: 'TIMED_OUT' }])
    },
  },
  {
    id: 'tokens.insert/holder-past-its-deadline',
    law: 'A token past its deadline that holds a key is settled before it is answered, and is reported as settled once.',
    async check(s) {
      const key = { scope: 's', value: 'v' }
      await s.insertToken('t', { timeoutAt: s.at(50), key })
      const again = async (now: number): Promise<unknown> => s.insertToken('x', { key }, now)
      like('the insert before the deadline', await again(49), {
        isCached: true,
        record: { id: 't', status: 'WAITING' },
      })
      like('the insert at the deadline', await again(50), {
        isCached: true,
        settledNow: true,
        record: { id: 't', status: 'TIMED_OUT', completedAt: s.at(50) },
      })
      const next = await s.insertToken('x', { key }, 51)
      like('the next insert', next, { record: { id: 't', status: 'TIMED_OUT' } })
      same('what it settled', next !== 'stale' && next.settledNow === true, false)
      same('tokens settled by the next tick', (await s.tick(A, 51)).settled, [])
    },
  },
  ...insertLawsOf('runs'),
  {
    id: 'runs.insert/instead-of-its-holder',
    law: 'With `instead`, the holder of that id gives its key up to the new run, and any other holder is answered.',
    async check(s) {
      const key = { scope: 's', value: 'v', expiresAt: s.at(100) }
      const insert = async (id: string, instead?: string): Promise<unknown> => {
        const record = queuedRun(id, { createdAt: s.at(0), key })
        return s.storage.runs.insert({ record, instead, now: s.at(0), by: A })
      }
      await insert('first')
      const refused = await insert('second', 'another')
      like('instead of another one', refused, { isCached: true, record: { id: 'first' } })
      like('instead of the first', await insert('third', 'first'), {
        isCached: false,
        record: { id: 'third' },
      })
      const late = await insert('fourth', 'first')
      like('instead of the first, once more', late, { isCached: true, record: { id: 'third' } })
      like('the next one', await insert('fifth'), { isCached: true, record: { id: 'third' } })
      like('the first', await s.storage.runs.get('first'), { id: 'first', key })
    },
  },
  {
    id: 'runs.insert/claims-nothing-of-a-set-queue',
    law: 'Of a storage that claimsNew and has queues, an insert claims nothing while something is set of the queue of its run.',
    optional: '`claimsNew`',
    async check(s) {
      const { queues, claimsNew = false } = s.storage
      if (queues === undefined || !claimsNew) return
      await s.claim({ number: 1 })
      const record = { queue: 'mail' }
      await queues.set({ name: 'mail', limit: 5, now: s.at(0), by: B })
      const inserted = await insertClaiming(s, 'one', { number: 1, record })
      like('under a limit', inserted, { record: { status: 'QUEUED', attempt: 0 } })
      same('the claim', idsOf((await s.claim({ number: 2 })).runs), ['one'])
      if (s.storage.rates !== true) return
      const rate = { limit: 1, perMs: 1_000 }
      await queues.set({ name: 'mail', limit: null, rate, now: s.at(0), by: B })
      like('under a rate', await insertClaiming(s, 'two', { number: 2, record }), {
        record: { status: 'QUEUED', attempt: 0 },
      })
    },
  },
  {
    id: 'runs.insert/claims-for-its-caller',
    law: 'Of a storage that claimsNew, an insert with `claim` claims its run as a claim would, and a muster answers it.',
    optional: '`claimsNew`',
    async check(s) {
      if (s.storage.claimsNew !== true) return
      await s.claim({ number: 7 })
      const inserted = await insertClaiming(s, 'r', { number: 7 })
      const run = {
        ...queuedRun('r', { createdAt: s.at(0) }),
        status: 'EXECUTING',
        attempt: 1,
        policyAttempt: 1,
        owner: A,
        epoch: 1,
        slot: true,
        version: 'v',
        startedAt: s.at(0),
        updatedAt: s.at(0),
      }
      same('the insert', inserted, { record: run, isCached: false, isClaimed: true })
      same('the record', await s.storage.runs.get('r'), run)
      same('the next claim', await s.claim({ number: 8 }), { runs: [], ended: [] })
      same('a muster', await s.claim({ number: 9, limit: 0 }), { runs: [run], ended: [] })
      like('the write of its attempt', await s.update(run, { status: 'COMPLETED' }), { record: { id: 'r' } })
    },
  },
  {
    id: 'runs.insert/claims-nothing-out-of-turn',
    law: 'Of a storage that claimsNew, an insert claims nothing without a live lease, before another run, or after a later claim.',
    optional: '`claimsNew`',
    async check(s) {
      if (s.storage.claimsNew !== true) return
      const isClaimed = async (id: string, claiming: Claiming = {}): Promise<unknown> => {
        const inserted = await insertClaiming(s, id, claiming)
        return inserted !== 'stale' && inserted.isClaimed === true
      }
      same('without a lease', await isClaimed('stranger', { by: B }), false)
      same('behind it', await isClaimed('behind'), false)
      same('the claim', idsOf((await s.claim({ number: 1 })).runs), ['stranger', 'behind'])
      same('after a later claim', await isClaimed('late', { number: 0 }), false)
      same('the claim after that', idsOf((await s.claim({ number: 2 })).runs), ['late'])
      const delayed = { status: 'DELAYED', wakeAt: s.at(9) } as const
      same('a delayed run', await isClaimed('delayed', { number: 2, record: delayed }), false)
      same('before it is due', await isClaimed('before', { number: 2, now: 8 }), true)
      same('when it is due', await isClaimed('beside', { number: 2, now: 9 }), false)
      same('the claim of both', idsOf((await s.claim({ number: 3, now: 9 })).runs).sort(), [
        'beside',
        'delayed',
      ])
      await s.tick(B, 9, { leaseUntil: s.at(20) })
      await s.start('lost', {}, B)
      same('beside a lost owner', await isClaimed('waits', { number: 3, now: 20 }), false)
      same('the claim of its run', idsOf((await s.claim({ number: 4, now: 20 })).runs).sort(), [
        'lost',
        'waits',
      ])
      same(
        'a run that has expired',
        await isClaimed('expired', { number: 4, now: 20, record: { expiresAt: s.at(20) } }),
        false,
      )
    },
  },
]

interface Claiming {
  readonly by?: string
  readonly number?: number
  readonly now?: number
  readonly record?: Partial<RunRecord>
}

/** Inserts a run with `claim`. */
function insertClaiming(
  s: Subject,
  id: string,
  { by = A, number = 0, now = 0, record: fields }: Claiming,
): Awaitable<RunInserted | 'stale'> {
  const record = queuedRun(id, { createdAt: s.at(now), ...fields })
  const claim = { taskIds: ['task'], version: 'v', number }
  return s.storage.runs.insert({ record, claim, now: s.at(now), by })
}
