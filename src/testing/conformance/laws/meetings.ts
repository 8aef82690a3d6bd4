import type { TokenChange } from '../../../contract/storage.ts'
import { A, B, type Subject } from '../subject.ts'
import {
  append,
  attemptOf,
  awaitToken,
  call,
  claim,
  claimAll,
  fence,
  firstFence,
  freeKey,
  getWithWaiters,
  insertChild,
  insertKeyed,
  insertOwnToken,
  LOOK,
  ownerOf,
  pageOfTokens,
  prune,
  push,
  type Release,
  start,
  storedOf,
  textsOfStream,
  tick,
} from './calls.ts'

/** One call of a law, on records whose ids begin with `at`. */
export type MeetingCall = (s: Subject, at: string) => Promise<unknown>

/** A call, calls that are made one after the other, or a call that drops waits. */
export type MeetingAct = MeetingCall | readonly MeetingCall[] | Release

/** Records that calls meet on, and the calls: each two of them. */
export interface Meeting {
  readonly id: string
  readonly of: string
  readonly prepare: MeetingCall
  readonly acts: Readonly<Record<string, MeetingAct>>
  /** More calls. Each meets the calls above, and none of these. */
  readonly others?: Readonly<Record<string, MeetingAct>>
  /**
   * So many slots of its queue are there for a claim in the end. A claim may pass over a run that another call has locked, so claims answer
   * their runs together.
   */
  readonly slotsAfter?: number
  /** All is pruned in the end. A prune may leave to the next one what another call is at, so prunes answer their counts together. */
  readonly isPrunedAfter?: boolean
  /** Calls that look at all records: each two of them meet on an empty storage. */
  readonly isAlone?: boolean
  /** The ability of a storage that it is about. */
  readonly needs?: 'debounces' | 'freeKey'
}

/** A run that executes, waits for `t`, and has a stream; beside it a token `v`. */
const executing: Meeting = {
  id: 'overlap/of-a-run-that-executes',
  of: 'a run that executes',
  async prepare(s, at) {
    await start(s, at)
    for (const name of ['t', 'v']) await s.insertToken(at + name, { timeoutAt: s.at(100), tags: [at] })
    await awaitToken(s, at, 't')
    await s.storage.chunks.open({ ...attemptOf(at), key: 'k', attempt: 1, now: s.at(0) })
  },
  acts: {
    complete: (s, at) => s.update({ id: `${at}r` }, { status: 'COMPLETED', outputJson: '1' }),
    cancel: (s, at) => s.update({ id: `${at}r` }, { status: 'CANCELED', epoch: 2, slot: false }),
    retry: (s, at) => s.update({ id: `${at}r` }, { status: 'DELAYED', wakeAt: s.at(50) }),
    'note metadata': (s, at) => s.update({ id: `${at}r` }, { metadataJson: '{"a":1}' }),
    tag: (s, at) => s.update({ id: `${at}r` }, { tags: ['x'] }),
    park: (s, at) => call(s.storage.runs.park({ ...firstFence(at), now: s.at(0) })),
    wait: (s, at) => call(s.storage.tokens.await({ ...attemptOf(at), tokenId: `${at}v`, now: s.at(0) })),
    settle: (s, at) => s.settle(`${at}t`),
    'settle by its run': (s, at) => s.settle(`${at}t`, 0, { outputJson: '2', fence: fence(at) }),
    release: { waits: [['r', 't']] },
    ask: (s, at) => insertChild(s, at),
    append: (s, at) => append(s, at, { texts: ['"a"', '"b"'] }),
    'open a stream': (s, at) =>
      call(s.storage.chunks.open({ ...attemptOf(at), key: 'l', attempt: 1, now: s.at(0) })),
  },
}

/** A run that is parked, and waits for `t`. */
const parked: Meeting = {
  id: 'overlap/of-a-run-that-waits',
  of: 'a run that waits',
  async prepare(s, at) {
    await start(s, at)
    await s.insertToken(`${at}t`)
    await awaitToken(s, at, 't')
    await s.storage.runs.park({ ...firstFence(at), now: s.at(0) })
  },
  acts: {
    settle: (s, at) => s.settle(`${at}t`),
    resume: (s, at) => call(s.storage.runs.resume({ ...firstFence(at), queueLimit: 1, now: s.at(0) })),
    cancel: (s, at) => s.update({ id: `${at}r` }, { status: 'CANCELED', epoch: 2, slot: false }),
    'set aside': (s, at) => s.update({ id: `${at}r` }, { status: 'PENDING_VERSION' }),
    tag: (s, at) => s.update({ id: `${at}r` }, { tags: ['x'] }),
  },
}

const change = (s: Subject, at: string, to: Partial<TokenChange>): Promise<unknown> =>
  call(s.storage.tokens.change({ id: `${at}t`, question: '"q"', by: B, ...to, now: s.at(10) }))

/** A run that is parked, and waits for a token with a question until 100. */
const asked: Meeting = {
  id: 'overlap/of-a-question',
  of: 'a question',
  async prepare(s, at) {
    await start(s, at)
    await s.insertToken(`${at}t`, { questionJson: '"q"', timeoutAt: s.at(100), tags: [at] })
    await awaitToken(s, at, 't')
    await s.storage.runs.park({ ...firstFence(at), now: s.at(0) })
  },
  acts: {
    answer: (s, at) => s.settle(`${at}t`, 10, { question: '"q"', answeredJson: '"ann"' }),
    'ask something else': (s, at) => change(s, at, { questionJson: '"p"' }),
    extend: (s, at) => change(s, at, { timeoutAt: s.at(200) }),
    'shorten by its run': (s, at) => change(s, at, { timeoutAt: s.at(20), fence: fence(at), by: A }),
  },
  others: {
    'answer another question': (s, at) => s.settle(`${at}t`, 10, { question: '"p"', answeredJson: '"bob"' }),
    'answer when it was due': (s, at) => s.settle(`${at}t`, 150, { question: '"q"' }),
    'get when it was due': (s, at) => call(s.storage.tokens.get(`${at}t`, s.at(150))),
    'wait when it was due': (s, at) =>
      call(s.storage.tokens.await({ ...attemptOf(at), tokenId: `${at}t`, now: s.at(150) })),
  },
}

/** Two runs in line. A claim may pass over a run that another call has locked, even one that is refused: there is none here. */
const queued: Meeting = {
  id: 'overlap/of-runs-in-line',
  of: 'runs in line',
  async prepare(s, at) {
    await s.insertRun(`${at}r`, { taskId: at, queue: at })
    await s.insertRun(`${at}s`, { taskId: at, queue: at })
  },
  acts: {
    claim: (s, at) => claim(s, at, A),
    'claim by another engine': (s, at) => claim(s, at, B),
    cancel: (s, at) => s.update({ id: `${at}r` }, { status: 'CANCELED', epoch: 1, slot: false }),
  },
}

/** A run that is put off by triggers of its key, and is due at 50. No push is refused for being late, see above. */
const putOff: Meeting = {
  id: 'overlap/of-a-run-that-is-put-off',
  of: 'a run that is put off',
  async prepare(s, at) {
    await push(s, at, { id: 'r', now: 0 })
  },
  needs: 'debounces',
  acts: {
    push: (s, at) => push(s, at, { id: 's', now: 40 }),
    'push, too': (s, at) => push(s, at, { id: 'u', now: 45 }),
    claim: (s, at) => s.claim({ taskIds: [at], limit: 1, now: 50 }),
    cancel: (s, at) => s.update({ id: `${at}r` }, { status: 'CANCELED', epoch: 1, slot: false }),
  },
}

/** No run yet, and two that are to be the first one of a key. */
const firstOfKey: Meeting = {
  id: 'overlap/of-the-first-of-a-key',
  of: 'triggers that begin a debounce',
  prepare: async () => undefined,
  needs: 'debounces',
  acts: {
    one: (s, at) => push(s, at, { id: 'r', now: 0 }),
    other: (s, at) => push(s, at, { id: 's', now: 1 }),
  },
}

/** A run that executes and triggers at one of its places, once more because an answer was late, beside a trigger from outside. */
const bound: Meeting = {
  id: 'overlap/of-a-place-that-is-bound',
  of: 'a place that is bound',
  async prepare(s, at) {
    await start(s, at)
  },
  needs: 'debounces',
  acts: {
    trigger: (s, at) => push(s, at, { id: 's', now: 0, isBound: true }),
    'trigger again': (s, at) => push(s, at, { id: 'u', now: 10, isBound: true }),
    'trigger elsewhere': (s, at) => push(s, at, { id: 'w', now: 20 }),
    cancel: (s, at) => s.update({ id: `${at}r` }, { status: 'CANCELED', epoch: 2, slot: false }),
  },
}

/** A run that holds a key, triggers of that key, and calls that free it. */
const keyed: Meeting = {
  id: 'overlap/of-a-key-that-is-freed',
  of: 'a key that is freed',
  async prepare(s, at) {
    await insertKeyed(s, at, 'r')
  },
  needs: 'freeKey',
  acts: {
    trigger: (s, at) => insertKeyed(s, at, 's'),
    'trigger, too': (s, at) => insertKeyed(s, at, 'u'),
    free: (s, at) => freeKey(s, at),
    'free, too': (s, at) => freeKey(s, at),
  },
}

/** A run that executes, as for `executing`, and calls that read. */
const read: Meeting = {
  id: 'overlap/of-what-is-read',
  of: 'what is read and written',
  async prepare(s, at) {
    await executing.prepare(s, at)
    await append(s, at, { texts: ['"a"'] })
    await insertChild(s, at)
    await s.insertToken(`${at}own`, { runId: `${at}r`, key: { scope: `${at}r`, value: '2' }, tags: [at] })
    await awaitToken(s, at, 'own')
  },
  acts: {
    complete: (s, at) => s.update({ id: `${at}r` }, { status: 'COMPLETED', outputJson: '1' }),
    retry: (s, at) => s.update({ id: `${at}r` }, { status: 'DELAYED', wakeAt: s.at(50) }),
    settle: (s, at) => s.settle(`${at}t`, 10),
    'settle, too': (s, at) => s.settle(`${at}own`, 10),
    wait: (s, at) => awaitToken(s, at, 'v'),
    release: {
      waits: [
        ['r', 't'],
        ['r', 'own'],
      ],
    },
    'cancel its child': (s, at) => s.update({ id: `${at}s` }, { status: 'CANCELED', epoch: 2, slot: false }),
    append: (s, at) => append(s, at, { texts: ['"a"', '"b"', '"c"'], last: 3 }),
    'insert a token': (s, at) => insertOwnToken(s, at),
    'insert a token, then settle': [insertOwnToken, (s, at) => s.settle(`${at}t`, 10)],
    'insert a token, then cancel the child': [
      insertOwnToken,
      (s, at) => s.update({ id: `${at}s` }, { status: 'CANCELED', epoch: 2, slot: false }),
    ],
  },
  others: {
    get: (s, at) => getWithWaiters(s, at),
    'get when it is due': (s, at) => call(s.storage.tokens.get(`${at}t`, s.at(100))),
    list: (s, at) => pageOfTokens(s, { tags: [at] }, 20),
    'list when they are due': (s, at) => pageOfTokens(s, { tags: [at] }, 100),
    'what it waits for': async (s, at) =>
      [...(await s.storage.runs.waits(`${at}r`))].sort((one, other) => (one.id < other.id ? -1 : 1)),
    'what it has asked for': (s, at) => call(s.storage.runs.asked(`${at}r`)),
    'read a stream': (s, at) => textsOfStream(s, at),
  },
}

const WAITS = [
  ['r', 't'],
  ['s', 't'],
  ['s', 'v'],
] as const
const leave: MeetingCall = (s, at) => s.leave(ownerOf(at), 50)
const tickInTime: MeetingCall = (s, at) => tick(s, at, { owner: ownerOf(at), now: 50 })
const park: MeetingCall = (s, at) =>
  call(s.storage.runs.park({ ...firstFence(at), by: ownerOf(at), now: s.at(50) }))

/** An engine whose lease lasts until 100, a run that it executes, and one that it has parked. */
const engine: Meeting = {
  id: 'overlap/of-an-engine',
  of: 'an engine and its runs',
  slotsAfter: Infinity,
  async prepare(s, at) {
    const by = ownerOf(at)
    await s.tick(by, 0, { leaseUntil: s.at(100) })
    for (const name of ['r', 's']) await s.insertRun(at + name, { taskId: at, queue: at })
    await s.claim({ by, number: 1, taskIds: [at], limit: 2 })
    for (const name of ['t', 'v']) await s.insertToken(at + name, { timeoutAt: s.at(100) })
    for (const [run, token] of WAITS)
      await s.storage.tokens.await({ tokenId: at + token, runId: at + run, epoch: 1, by, now: s.at(0) })
    await s.storage.runs.park({ id: `${at}s`, epoch: 1, parks: 1, by, now: s.at(0) })
    await s.insertRun(`${at}u`, { taskId: at, queue: at, expiresAt: s.at(100) })
  },
  acts: {
    leave,
    'tick in time': tickInTime,
    'tick when all is due': (s, at) => tick(s, at, { owner: ownerOf(at), now: 100 }),
    'tick of another engine': (s, at) => tick(s, at, { owner: A, now: 100 }),
    claim: (s, at) => claimAll(s, at, { by: ownerOf(at), number: 2, now: s.at(50) }),
    muster: (s, at) => claimAll(s, at, { by: ownerOf(at), number: 2, limit: 0, now: s.at(50) }),
    settle: (s, at) => s.settle(`${at}t`, 50),
    complete: (s, at) => s.update({ id: `${at}r` }, { status: 'COMPLETED', outputJson: '1' }, 50),
    'cancel what is parked': (s, at) => s.update({ id: `${at}s` }, { status: 'CANCELED', epoch: 2 }, 50),
    park,
    resume: (s, at) =>
      call(s.storage.runs.resume({ id: `${at}s`, epoch: 1, parks: 1, by: ownerOf(at), now: s.at(50) })),
    'get when it is due': (s, at) => call(s.storage.tokens.get(`${at}t`, s.at(100))),
    release: { waits: WAITS, owner: ownerOf },
  },
  others: {
    'tick in time, then look': [tickInTime, ...LOOK],
    'leave, then look': [leave, ...LOOK],
    'park, leave, then look': [park, leave, ...LOOK],
  },
}

/** That engine, and another one that claims its runs. A claim may pass over a run that another call has locked: nothing looks at it after such a call. */
const takenOver: Meeting = {
  ...engine,
  id: 'overlap/of-runs-that-are-taken-over',
  of: 'runs that are taken over',
  acts: { 'claim of another engine': (s, at) => claimAll(s, at, { by: A, now: s.at(100) }) },
  others: { ...engine.acts, 'tick in time, then look': [tickInTime, ...LOOK] },
}

const resume: MeetingCall = (s, at) =>
  call(s.storage.runs.resume({ ...firstFence(at), queueLimit: 1, now: s.at(0) }))
const endOther: MeetingCall = (s, at) => s.update({ id: `${at}s` }, { status: 'COMPLETED' })
const claimOfOne: MeetingCall = (s, at) =>
  claimAll(s, at, { by: A, now: s.at(0), queueLimits: new Map([[at, 1]]) })

/** Two parked runs and one in line, of a queue with one slot. */
const full: Meeting = {
  id: 'overlap/of-a-full-queue',
  of: 'a queue with one slot',
  async prepare(s, at) {
    for (const name of ['r', 's']) {
      await s.insertRun(at + name, { taskId: at, queue: at })
      await claim(s, at, A)
      await s.insertToken(`${at}${name}-token`)
      await s.storage.tokens.await({
        ...attemptOf(at),
        tokenId: `${at}${name}-token`,
        runId: at + name,
        now: s.at(0),
      })
      await s.storage.runs.park({ ...firstFence(at), id: at + name, now: s.at(0) })
    }
    await s.insertRun(`${at}u`, { taskId: at, queue: at })
  },
  acts: {
    resume,
    'resume the other': (s, at) =>
      call(s.storage.runs.resume({ ...firstFence(at), id: `${at}s`, queueLimit: 1, now: s.at(0) })),
    claim: claimOfOne,
    'cancel what is in line': (s, at) =>
      s.update({ id: `${at}u` }, { status: 'CANCELED', epoch: 1, slot: false }),
  },
}

/** A parked run, one that has the only slot of their queue, and one in line. */
const freed: Meeting = {
  id: 'overlap/of-a-slot-that-is-freed',
  of: 'a queue whose slot is freed',
  slotsAfter: 2,
  async prepare(s, at) {
    await start(s, at)
    await s.insertToken(`${at}t`)
    await awaitToken(s, at, 't')
    await s.storage.runs.park({ ...firstFence(at), now: s.at(0) })
    await s.insertRun(`${at}s`, { taskId: at, queue: at })
    await claim(s, at, A)
    await s.insertRun(`${at}u`, { taskId: at, queue: at })
  },
  acts: {
    resume,
    claim: claimOfOne,
    'free the slot': endOther,
    'free the slot, then resume': [endOther, resume],
    'free the slot, then claim': [endOther, claimOfOne],
    cancel: (s, at) => s.update({ id: `${at}r` }, { status: 'CANCELED', epoch: 2, slot: false }),
  },
}

/** A run that executes, and a token past its deadline that holds a key. */
const inserted: Meeting = {
  id: 'overlap/of-inserts',
  of: 'what is inserted',
  async prepare(s, at) {
    await start(s, at)
    await s.insertToken(`${at}t`, { timeoutAt: s.at(5), key: { scope: at, value: 'held' } })
  },
  acts: {
    'insert a run': (s, at) => s.insertRun(`${at}s`, { taskId: at, key: { scope: at, value: 'free' } }, 10),
    'insert another run': (s, at) =>
      s.insertRun(`${at}u`, { taskId: at, key: { scope: at, value: 'free' } }, 10),
    'insert a token': (s, at) => s.insertToken(`${at}v`, { key: { scope: at, value: 'free' } }, 10),
    'insert another token': (s, at) => s.insertToken(`${at}w`, { key: { scope: at, value: 'free' } }, 10),
    'insert a token with a held key': (s, at) =>
      s.insertToken(`${at}x`, { key: { scope: at, value: 'held' } }, 10),
    'insert a token of the run': (s, at) => insertOwnToken(s, at),
    settle: (s, at) => s.settle(`${at}t`, 4),
    'get when it is due': (s, at) => call(s.storage.tokens.get(`${at}t`, s.at(10))),
    complete: (s, at) => s.update({ id: `${at}r` }, { status: 'COMPLETED', outputJson: '1' }),
    'complete, then look': [
      (s, at) => s.update({ id: `${at}r` }, { status: 'COMPLETED', outputJson: '1' }),
      storedOf,
    ],
    'insert a child': (s, at) => insertChild(s, at, 'c'),
    'get a setting': (s, at) => call(s.storage.settings.getOrInsert(at, 'one')),
    'get a setting, too': (s, at) => call(s.storage.settings.getOrInsert(at, 'two')),
  },
}

/** Records that are over: a run with a stream and a token of its own, a token with a key, and another token. */
const pruned: Meeting = {
  id: 'overlap/of-what-is-pruned',
  of: 'records that are pruned',
  isAlone: true,
  isPrunedAfter: true,
  async prepare(s, at) {
    await executing.prepare(s, at)
    await append(s, at, { texts: ['"a"'] })
    const own = (value: string) => ({ runId: `${at}r`, key: { scope: `${at}r`, value } })
    await s.insertToken(`${at}own`, { kind: 'SLEEP', ...own('2') })
    await s.insertToken(`${at}z`, own('4'))
    await s.update({ id: `${at}r` }, { status: 'COMPLETED' }, 1)
    await s.insertToken(`${at}w`, { timeoutAt: s.at(100), key: { scope: at, value: 'due' } })
    await s.insertToken(`${at}x`, { key: { scope: at, value: 'v', expiresAt: s.at(10) } })
    await s.settle(`${at}x`, 1)
    await s.insertRun(`${at}u`, { taskId: at, queue: at })
    await s.claim({ taskIds: [at] })
  },
  acts: {
    prune,
  },
  others: {
    'prune, too': prune,
    'get a token': (s, at) => call(s.storage.tokens.get(`${at}x`, s.at(200))),
    'get when it is due': (s, at) => call(s.storage.tokens.get(`${at}t`, s.at(200))),
    list: (s, at) => pageOfTokens(s, { key: { scope: at, value: 'v' } }, 200),
    'list when they are due': (s, at) => pageOfTokens(s, { tags: [at] }, 200),
    'tick when they are due': (s, at) => tick(s, at, { owner: A, now: 200 }),
    'insert with the key of one that is due': (s, at) =>
      s.insertToken(`${at}y`, { key: { scope: at, value: 'due' } }, 200),
    settle: (s, at) => s.settle(`${at}v`, 50),
    wait: (s, at) =>
      call(s.storage.tokens.await({ tokenId: `${at}x`, runId: `${at}u`, epoch: 1, by: A, now: s.at(9) })),
    'wait for the run': (s, at) =>
      call(s.storage.tokens.await({ tokenId: `run:${at}r`, runId: `${at}u`, epoch: 1, by: A, now: s.at(9) })),
    'insert with the key': (s, at) =>
      s.insertToken(`${at}y`, { key: { scope: at, value: 'v', expiresAt: s.at(900) } }, 9),
    'insert a child': (s, at) => s.insertRun(`${at}s`, { taskId: at, rootId: `${at}r`, parentId: `${at}r` }),
    complete: (s, at) => s.update({ id: `${at}u` }, { status: 'COMPLETED' }, 20),
    'what it has asked for': (s, at) => call(s.storage.runs.asked(`${at}r`)),
    'read a stream': (s, at) => textsOfStream(s, at),
  },
}

export const MEETINGS: readonly Meeting[] = [
  executing,
  parked,
  queued,
  putOff,
  firstOfKey,
  bound,
  keyed,
  read,
  engine,
  takenOver,
  full,
  freed,
  inserted,
  pruned,
  asked,
]
