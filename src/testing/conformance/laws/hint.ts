import type { RunRecord } from '../../../contract/records.ts'
import type { Hint } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { chunkOf } from '../sample-records.ts'
import { isSame, like, Mismatch, same } from '../sameness.ts'
import { A, B, idsOf, type Subject } from '../subject.ts'

/** The number of calls a hint may take, because a storage that sends hints over a connection need not be immediate. */
const PATIENCE = 500

/** The topics hinted to `owner` during `act`. Waits for `expected` to arrive. */
export async function heard(
  s: Subject,
  owner: string,
  { act, expected }: { readonly act: () => Promise<unknown>; readonly expected: Hint['topic'] | undefined },
): Promise<readonly string[]> {
  const topics: string[] = []
  const unsubscribe = s.storage.subscribe(owner, ({ topic }) => topics.push(topic))
  try {
    await act()
    for (let call = 0; call < PATIENCE; call++) {
      if (expected !== undefined && topics.includes(expected)) return topics
      if (expected === undefined && call > 10) return topics
      await s.storage.runs.get('nobody')
    }
  } finally {
    unsubscribe()
  }
  throw new Mismatch(`hints to "${owner}"`, { expected: `one of topic ${expected ?? ''}`, seen: topics })
}

/** Gives hints time to come, for as many calls as it takes, within reason. */
async function patiently(s: Subject, isOver: () => boolean): Promise<void> {
  for (let call = 0; call < PATIENCE && !isOver(); call++) await s.storage.runs.get('nobody')
}

/** Waits until engine `B` hears this hint during `act`. */
async function heardOf(s: Subject, expected: Hint, act: () => Promise<unknown>): Promise<void> {
  const hints: Hint[] = []
  const unsubscribe = s.storage.subscribe(B, (hint) => hints.push(hint))
  const isHeard = (): boolean => hints.some((hint) => isSame(hint, expected, false))
  await act()
  await patiently(s, isHeard)
  unsubscribe()
  if (!isHeard()) throw new Mismatch(`hints to "${B}"`, { expected, seen: hints })
}

/** Laws of `subscribe`. Hints only improve latency, so they are one capability. */
export const hintLaws: readonly Law[] = [
  {
    id: 'subscribe/tells-the-others',
    law: 'Other owners are hinted at what changed: runs to claim, runs changed, chunks appended.',
    capability: 'hints',
    async check(s) {
      await s.tick(B)
      await heard(s, B, { act: () => s.insertRun('r'), expected: 'queue' })
      const { runs } = await s.claim()
      const [run] = runs
      if (run === undefined) return
      const open = { runId: 'r', key: 'k', epoch: run.epoch, attempt: 1, by: A, now: s.at(0) }
      const stream = { topic: 'stream', runId: 'r', key: 'k' } as const
      await heardOf(s, stream, async () => s.storage.chunks.open(open))
      const append = { ...open, first: 0, chunks: [chunkOf('a')], history: { chunks: 9, bytes: 9_000 } }
      await heardOf(s, stream, async () => s.storage.chunks.append(append))
      const back = { status: 'EXECUTING', owner: undefined } as const
      await heardOf(s, { topic: 'queue' }, () => s.update(run, back))
      const [again = run] = (await s.claim()).runs
      await heardOf(s, { topic: 'run', runId: 'r' }, () => s.update(again, { status: 'COMPLETED' }))
      await s.start('left')
      await heardOf(s, { topic: 'queue' }, async () => s.leave(A, 1))
    },
  },
  {
    id: 'subscribe/tells-of-runs-that-go-on',
    law: 'Other owners are hinted at a PENDING_VERSION run that becomes EXECUTING: it is to be claimed.',
    capability: 'hints',
    async check(s) {
      await s.tick(B)
      const run = await s.start('r')
      await s.update(run, { status: 'PENDING_VERSION' })
      const expected = { status: ['PENDING_VERSION'] } as const
      const request = { id: 'r', expected, change: { status: 'EXECUTING' }, by: A, now: s.at(1) } as const
      await heard(s, B, { act: async () => s.storage.runs.update(request), expected: 'queue' })
    },
  },
  {
    id: 'subscribe/tells-of-free-slots',
    law: 'Other owners are hinted when a queued run may begin: one that was refused a slot has had it and parks, or ends without one.',
    capability: 'hints',
    async check(s) {
      await s.tick(B)
      const claim = async (): Promise<readonly RunRecord[]> =>
        (await s.claim({ by: B, queueLimits: new Map([['queue', 1]]) })).runs
      const run = await s.startParked('r', 't')
      const other = await s.start('other')
      await s.insertRun('queued')
      const resume = async (parks: number): Promise<unknown> =>
        s.storage.runs.resume({ ...s.fenceOf(run), parks, queueLimit: 1 })
      same('while it is full', await resume(1), { outcome: 'full' })
      await s.update(other, { status: 'COMPLETED' })
      same('a claim before that', idsOf(await claim()), [])
      like('when there is a slot', await resume(1), { outcome: 'resumed' })
      await heardOf(s, { topic: 'queue' }, async () => s.storage.runs.park({ ...s.fenceOf(run), parks: 2 }))
      const [next] = await claim()
      same('a claim after the park', next?.id, 'queued')
      if (next === undefined) return
      await s.insertRun('last')
      same('while that is executed', await resume(2), { outcome: 'full' })
      await s.update(next, { status: 'COMPLETED' })
      same('a claim after the end', idsOf(await claim()), [])
      await heardOf(s, { topic: 'queue' }, () => s.update(run, { status: 'CANCELED' }))
      same('a claim after the cancel', idsOf(await claim()), ['last'])
    },
  },
  {
    id: 'subscribe/tells-who-waits',
    law: 'The owner of a wait receives a hint when another owner settles the token.',
    capability: 'hints',
    async check(s) {
      await s.tick(B)
      await s.startParked('r', 't', B)
      await heard(s, B, { act: () => s.settle('t'), expected: 'waits' })
    },
  },
  {
    id: 'subscribe/names-runs-that-answer',
    law: 'A hint that names runs names those whose waits are ready, and resuming them answers the settled tokens.',
    optional: '`runIds` of the hint',
    capability: 'hints',
    async check(s) {
      await s.tick(B)
      const run = await s.startParked('r', 't', B)
      const named: (readonly string[] | undefined)[] = []
      const note = (hint: Hint): unknown => hint.topic === 'waits' && named.push(hint.runIds)
      const unsubscribe = s.storage.subscribe(B, note)
      await heard(s, B, { act: () => s.settle('t'), expected: 'waits' })
      unsubscribe()
      if (named[0] === undefined) return
      same('the runs', named, [['r']])
      const resumed = await s.storage.runs.resume({ ...s.fenceOf(run), isHinted: true })
      like('the resume', resumed, { outcome: 'resumed', tokens: [{ id: 't', status: 'COMPLETED' }] })
    },
  },
  {
    id: 'subscribe/tells-an-end',
    law: 'The end of a run is told to others, and not as a change after which the run goes on.',
    capability: 'hints',
    async check(s) {
      await s.tick(B)
      const run = await s.start('r')
      const told: Hint[] = []
      const unsubscribe = s.storage.subscribe(B, (hint) => told.push(hint))
      await s.update(run, { status: 'COMPLETED' })
      const isTold = (): boolean => told.some((hint) => hint.topic === 'run' && hint.goesOn !== true)
      await patiently(s, isTold)
      unsubscribe()
      same('whether the end is told', isTold(), true)
    },
  },
  {
    id: 'subscribe/tells-of-moved-deadlines',
    law: 'A deadline that is moved is hinted to other owners as `any`: it may be the next thing that is due.',
    capability: 'hints',
    async check(s) {
      await s.tick(B)
      await s.insertToken('t', { timeoutAt: s.at(300) })
      const sooner = { id: 't', question: undefined, timeoutAt: s.at(100), by: A, now: s.at(1) }
      await heard(s, B, { act: async () => s.storage.tokens.change(sooner), expected: 'any' })
    },
  },
  {
    id: 'subscribe/not-of-ones-own',
    law: 'An owner receives no hint of its own changes.',
    capability: 'hints',
    async check(s) {
      const own = async (what: string, act: () => Promise<unknown>): Promise<void> =>
        same(`hints of ${what}`, await heard(s, A, { act, expected: undefined }), [])
      await own('an insert', () => s.insertRun('r'))
      await own('a claim', () => s.claim())
      const run = await s.storage.runs.get('r')
      if (run === undefined) return
      const { epoch } = run
      const stream = { runId: 'r', key: 'k', epoch, by: A }
      await own('a stream', async () => s.storage.chunks.open({ ...stream, attempt: 1, now: s.at(0) }))
      const append = { ...stream, first: 0, chunks: [chunkOf('a')], history: { chunks: 9, bytes: 9_000 } }
      await own('an append', async () => s.storage.chunks.append(append))
      for (const id of ['settled', 'timed out', 'read']) {
        await s.insertToken(id, id === 'settled' ? {} : { timeoutAt: s.at(id === 'read' ? 20 : 10) })
        await s.wait(run, id)
      }
      const later = { id: 'read', question: undefined, timeoutAt: s.at(20), by: A, now: s.at(0) }
      await own('a deadline that is moved', async () => s.storage.tokens.change(later))
      await own('a park', async () => s.storage.runs.park(s.fenceOf(run)))
      await own('a completion', () => s.settle('settled'))
      await own('a resume', async () => s.storage.runs.resume(s.fenceOf(run)))
      await own('a tick', () => s.tick(A, 10))
      await own('a change', () => s.update(run, { metadataJson: '1' }))
      const retry = { status: 'DELAYED', wakeAt: s.at(15) } as const
      await own('a retry', () => s.update(run, retry))
      await own('a claim of it', () => s.claim({ now: 15 }))
      const back = { status: 'EXECUTING', owner: undefined } as const
      await own('a run that is handed back', () => s.update(run, back))
      await own('its claim', () => s.claim({ now: 15 }))
      await s.insertToken('late', { timeoutAt: s.at(15) })
      await s.wait({ ...run, epoch: run.epoch + 2 }, 'late', 14)
      await own('a completion that is late', () => s.settle('late', 15))
      const child = await s.start('child')
      await s.wait({ ...run, epoch: run.epoch + 2 }, 'run:child', 15)
      await own('the end of a child', () => s.update(child, { status: 'COMPLETED' }, 15))
      await s.insertRun('expires', { expiresAt: s.at(16) })
      await own('a run that expires', () => s.tick(A, 16))
      await s.insertRun('expires at once', { expiresAt: s.at(17) })
      await own('a claim that expires a run', () => s.claim({ now: 17 }))
      await s.tick(B, 17, { leaseUntil: s.at(18) })
      await s.start('crashed', {}, B)
      await s.update(await s.start('returned', {}, B), { returned: true, slot: false })
      await own('a claim that ends runs', () => s.claim({ now: 18, maxInterruptions: 0 }))
      await own('its end', () => s.update(run, { status: 'CANCELED', slot: true, slotUntil: s.at(18) }))
      await own('the end of its slot', () => s.tick(A, 18))
      await s.start('held')
      await own('a leave', async () => s.leave(A, 19))
    },
  },
  {
    id: 'subscribe/ends',
    law: 'A listener that has unsubscribed receives no more hints.',
    capability: 'hints',
    async check(s) {
      const topics: string[] = []
      s.storage.subscribe(B, ({ topic }) => topics.push(topic))()
      await heard(s, B, { act: () => s.insertRun('r'), expected: 'queue' })
      same('hints', topics, [])
    },
  },
]
