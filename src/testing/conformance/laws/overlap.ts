import type { WaitRecord } from '../../../contract/records.ts'
import type { RunBinding, RunClaimed } from '../../../contract/storage.ts'
import { memoryStorage } from '../../../storage/memory/memory.ts'
import type { Law } from '../law.ts'
import { queuedRun } from '../sample-records.ts'
import { isSame, Mismatch } from '../sameness.ts'
import { A, B, idsOf, namesOf, Subject } from '../subject.ts'

/** One call of a law, on records whose ids begin with `at`. */
type Act = (s: Subject, at: string) => Promise<unknown>

/** Records that calls meet on, and the calls: each two of them, in both orders of their beginning. */
interface Meeting {
  readonly id: string
  readonly of: string
  readonly prepare: Act
  readonly acts: Readonly<Record<string, Act>>
  /** The ability of a storage that it is about. */
  readonly needs?: 'debounces' | 'freeKey'
}

const HISTORY = { chunks: 100, bytes: 1_000_000 }

/** A run that executes, waits for `t`, and has a stream; beside it a token `v`. */
const executing: Meeting = {
  id: 'overlap/of-a-run-that-executes',
  of: 'a run that executes',
  async prepare(s, at) {
    await start(s, at)
    for (const name of ['t', 'v']) await s.insertToken(at + name, { timeoutAt: s.at(100) })
    await wait(s, at, 't')
    await s.storage.chunks.open({ ...attemptOf(at), key: 'k', attempt: 1, now: s.at(0) })
  },
  acts: {
    complete: (s, at) => s.update({ id: `${at}r` }, { status: 'COMPLETED', outputJson: '1' }),
    cancel: (s, at) => s.update({ id: `${at}r` }, { status: 'CANCELED', epoch: 2, slot: false }),
    retry: (s, at) => s.update({ id: `${at}r` }, { status: 'DELAYED', wakeAt: s.at(50) }),
    'note metadata': (s, at) => s.update({ id: `${at}r` }, { metadataJson: '{"a":1}' }),
    tag: (s, at) => s.update({ id: `${at}r` }, { tags: ['x'] }),
    park: (s, at) => call(s.storage.runs.park({ ...fenceOf(at), now: s.at(0) })),
    wait: (s, at) => call(s.storage.tokens.await({ ...attemptOf(at), tokenId: `${at}v`, now: s.at(0) })),
    settle: (s, at) => s.settle(`${at}t`),
    'settle by its run': (s, at) => s.settle(`${at}t`, 0, { outputJson: '2', fence: fence(at) }),
    release: (s, at) => call(s.storage.tokens.release([{ tokenId: `${at}t`, runId: `${at}r`, owner: A }])),
    ask: (s, at) => insertChild(s, at),
    append: (s, at) => append(s, at, ['"a"', '"b"']),
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
    await wait(s, at, 't')
    await s.storage.runs.park({ ...fenceOf(at), now: s.at(0) })
  },
  acts: {
    settle: (s, at) => s.settle(`${at}t`),
    resume: (s, at) => call(s.storage.runs.resume({ ...fenceOf(at), queueLimit: 1, now: s.at(0) })),
    cancel: (s, at) => s.update({ id: `${at}r` }, { status: 'CANCELED', epoch: 2, slot: false }),
    'set aside': (s, at) => s.update({ id: `${at}r` }, { status: 'PENDING_VERSION' }),
    tag: (s, at) => s.update({ id: `${at}r` }, { tags: ['x'] }),
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

/** Laws of two calls at the same time: what they answer, and what is stored then, is that of one order of the two. */
export const overlapLaws: readonly Law[] = [executing, parked, queued, putOff, firstOfKey, bound, keyed].map(
  (meeting) => ({
    id: meeting.id,
    law: `Two calls at the same time, of ${meeting.of}, answer and store what they would one after the other, in some order.`,
    async check(s) {
      if (!isAble(s, meeting)) return
      await s.tick(B)
      const names = Object.keys(meeting.acts)
      const pairs = names.flatMap((first) => names.map((second) => [first, second] as const))
      for (const [index, pair] of pairs.entries()) await checkPair(s, { meeting, pair, at: `${index}-` })
    },
  }),
)

function isAble({ storage }: Subject, { needs }: Meeting): boolean {
  if (needs === 'freeKey') return storage.runs.freeKey !== undefined
  return needs === undefined || storage[needs] === true
}

interface Pair {
  readonly meeting: Meeting
  readonly pair: readonly [first: string, second: string]
  readonly at: string
}

async function checkPair(s: Subject, { meeting, pair: [first, second], at }: Pair): Promise<void> {
  const act = async (subject: Subject, name: string): Promise<unknown> =>
    plain(await outcome(() => meeting.acts[name]?.(subject, at)))
  await meeting.prepare(s, at)
  const answers = await Promise.all([act(s, first), act(s, second)])
  const seen = { answers, stored: await storedOf(s, at) }
  const orders = [0, 1].map(async (isSwapped) => {
    const reference = await Subject.open(memoryStorage, s.origin)
    await reference.tick(B)
    await meeting.prepare(reference, at)
    const one = await act(reference, isSwapped === 1 ? second : first)
    const other = await act(reference, isSwapped === 1 ? first : second)
    return { answers: isSwapped === 1 ? [other, one] : [one, other], stored: await storedOf(reference, at) }
  })
  const expected = await Promise.all(orders)
  if (!expected.some((each) => isSame(seen, each, true)))
    throw new Mismatch(`"${first}" and "${second}" at the same time`, { expected, seen })
}

/** What is stored of the records whose ids begin with `at`. */
async function storedOf({ storage, origin }: Subject, at: string): Promise<unknown> {
  const stored: unknown[] = []
  for (const name of ['r', 's']) {
    const id = at + name
    const [record, waits, asked] = [storage.runs.get(id), storage.runs.waits(id), storage.runs.asked(id)]
    stored.push(await record, idsOf(await waits).toSorted(), await asked)
  }
  for (const name of ['t', 'v']) stored.push((await storage.tokens.get(at + name, origin))?.record)
  for (const key of ['k', 'l']) {
    const read = await storage.chunks.read({ runId: `${at}r`, key, from: 0, limit: 100 })
    stored.push(read && { stream: read.stream, texts: read.chunks.map(({ text }) => text) })
  }
  return stored
}

/** An error is an answer like any other, whatever its text. */
async function outcome(act: () => Promise<unknown> | undefined): Promise<unknown> {
  try {
    return await act()
  } catch {
    return 'an error'
  }
}

/** An answer without what has no order. */
function plain(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return answer
  // The calls of this file answer such objects.
  const { ready, ended } = answer as { readonly ready?: readonly WaitRecord[] } & Partial<RunClaimed>
  return {
    ...answer,
    ...(ready !== undefined && { ready: namesOf(ready) }),
    ...(ended !== undefined && { ended: ended.map(({ record }) => record) }),
  }
}

interface Push {
  readonly id: string
  readonly now: number
  readonly isBound?: boolean
}

function push(s: Subject, at: string, { id, now, isBound = false }: Push): Promise<unknown> {
  const wakeAt = s.at(now + 50)
  const key = { scope: at, value: 'v', expiresAt: s.at(now) }
  const fields = { taskId: at, queue: at, key, status: 'DELAYED', wakeAt, payloadJson: `"${id}"` } as const
  const record = queuedRun(at + id, { createdAt: s.at(now), ...fields })
  const change = { payloadJson: record.payloadJson }
  const request = { record, push: { wakeAt, change }, now: s.at(now), by: A }
  const bind = { ...bindingOf(at), id: `${at}b${id}`, createdAt: s.at(now), completedAt: s.at(now) }
  return call(s.storage.runs.insert(isBound ? { ...request, bind, fence: fence(at) } : request))
}

/** A place of the run that executes. */
function bindingOf(at: string): Pick<RunBinding, 'kind' | 'status' | 'tags' | 'key' | 'runId'> {
  const key = { scope: `${at}r`, value: 'place' }
  return { kind: 'BINDING', status: 'COMPLETED', tags: [], key, runId: `${at}r` }
}

function insertKeyed(s: Subject, at: string, name: string): Promise<unknown> {
  return s.insertRun(at + name, {
    taskId: at,
    queue: at,
    key: { scope: at, value: 'v', expiresAt: s.at(100) },
  })
}

function freeKey(s: Subject, at: string): Promise<unknown> {
  return call(s.storage.runs.freeKey?.({ key: { scope: at, value: 'v' }, now: s.at(50) }))
}

async function start(s: Subject, at: string): Promise<void> {
  await s.insertRun(`${at}r`, { taskId: at, queue: at })
  await claim(s, at, A)
}

function wait(s: Subject, at: string, token: string): Promise<unknown> {
  return call(s.storage.tokens.await({ ...attemptOf(at), tokenId: at + token, now: s.at(0) }))
}

function claim(s: Subject, at: string, by: string): Promise<RunClaimed> {
  return s.claim({ by, taskIds: [at], limit: 1 })
}

function insertChild(s: Subject, at: string): Promise<unknown> {
  const own = { taskId: at, queue: at, parentId: `${at}r`, key: { scope: `${at}r`, value: '1' } }
  const record = queuedRun(`${at}s`, { createdAt: s.at(0), ...own })
  return call(s.storage.runs.insert({ record, fence: fence(at), now: s.at(0), by: A }))
}

function append(s: Subject, at: string, texts: readonly string[]): Promise<unknown> {
  const chunks = texts.map((text) => ({ value: JSON.parse(text) as unknown, text, bytes: text.length }))
  return call(s.storage.chunks.append({ ...attemptOf(at), key: 'k', first: 0, chunks, history: HISTORY }))
}

/** The fence of the first attempt. */
function fence(at: string): { readonly runId: string; readonly epoch: number } {
  return { runId: `${at}r`, epoch: 1 }
}

function attemptOf(at: string): { readonly runId: string; readonly epoch: number; readonly by: string } {
  return { ...fence(at), by: A }
}

function fenceOf(at: string): { readonly id: string; readonly epoch: number; readonly by: string } {
  return { id: `${at}r`, epoch: 1, by: A }
}

/** A storage may answer without a promise. */
async function call<Answer>(answer: Answer): Promise<Awaited<Answer>> {
  return await answer
}
