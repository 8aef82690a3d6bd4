import type { Hint } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, Mismatch, same } from '../sameness.ts'
import { A, B, type Subject } from '../subject.ts'

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
      await heard(s, B, { act: async () => s.storage.chunks.open(open), expected: 'stream' })
      await heard(s, B, { act: () => s.update(run, { status: 'COMPLETED' }), expected: 'run' })
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
      for (let call = 0; call < PATIENCE && !isTold(); call++) await s.storage.runs.get('nobody')
      unsubscribe()
      same('whether the end is told', isTold(), true)
    },
  },
  {
    id: 'subscribe/not-of-ones-own',
    law: 'An owner receives no hint of its own changes.',
    capability: 'hints',
    async check(s) {
      same('hints', await heard(s, A, { act: () => s.insertRun('r'), expected: undefined }), [])
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
