import type { RunRecord } from '../../../contract/records.ts'
import type { RunBinding, RunClaim, RunClaimed, RunFence, TokenFilter } from '../../../contract/storage.ts'
import { manualToken, queuedRun } from '../sample-records.ts'
import { A, idsOf, type Subject } from '../subject.ts'

// Calls of laws that make many at the same time, on records whose ids begin with `at`.

const HISTORY = { chunks: 100, bytes: 1_000_000 }

interface Push {
  readonly id: string
  readonly now: number
  readonly isBound?: boolean
}

export function push(s: Subject, at: string, { id, now, isBound = false }: Push): Promise<unknown> {
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

export function insertKeyed(s: Subject, at: string, name: string): Promise<unknown> {
  return s.insertRun(at + name, {
    taskId: at,
    queue: at,
    key: { scope: at, value: 'v', expiresAt: s.at(100) },
  })
}

export function freeKey(s: Subject, at: string): Promise<unknown> {
  return call(s.storage.runs.freeKey?.({ key: { scope: at, value: 'v' }, now: s.at(50), by: A }))
}

export async function start(s: Subject, at: string): Promise<void> {
  await s.insertRun(`${at}r`, { taskId: at, queue: at })
  await claim(s, at, A)
}

export function awaitToken(s: Subject, at: string, token: string): Promise<unknown> {
  return call(s.storage.tokens.await({ ...attemptOf(at), tokenId: at + token, now: s.at(0) }))
}

export function claim(s: Subject, at: string, by: string): Promise<RunClaimed> {
  return s.claim({ by, taskIds: [at], limit: 1 })
}

export function insertChild(s: Subject, at: string, name = 's'): Promise<unknown> {
  const own = { taskId: at, queue: at, parentId: `${at}r`, key: { scope: `${at}r`, value: '1' } }
  const record = queuedRun(at + name, { createdAt: s.at(0), ...own })
  return call(s.storage.runs.insert({ record, fence: fence(at), now: s.at(0), by: A }))
}

export function append(
  s: Subject,
  at: string,
  { texts, last }: { readonly texts: readonly string[]; readonly last?: number },
): Promise<unknown> {
  const written = last === undefined ? undefined : [{ writer: 'w', last }]
  const chunks = texts.map((text) => ({ value: JSON.parse(text) as unknown, text, bytes: text.length }))
  return call(
    s.storage.chunks.append({ ...attemptOf(at), key: 'k', first: 0, chunks, written, history: HISTORY }),
  )
}

export function insertOwnToken(s: Subject, at: string): Promise<unknown> {
  const own = { runId: `${at}r`, key: { scope: `${at}r`, value: '3' }, tags: [at] }
  const record = manualToken(`${at}y`, { createdAt: s.at(0), ...own })
  return call(s.storage.tokens.insert({ record, fence: fence(at), now: s.at(0), by: A }))
}

/** Waits that a call drops. */
export interface Release {
  readonly waits: readonly (readonly [run: string, token: string])[]
  readonly owner?: (at: string) => string
}

export function release(s: Subject, at: string, { waits, owner = () => A }: Release): Promise<unknown> {
  return call(
    s.storage.tokens.release(
      waits.map(([run, token]) => ({ tokenId: at + token, runId: at + run, owner: owner(at) })),
    ),
  )
}

export async function textsOfStream(s: Subject, at: string): Promise<unknown> {
  const read = await s.storage.chunks.read({ runId: `${at}r`, key: 'k', from: 0, limit: 9, writer: 'w' })
  return read && { ...read, chunks: read.chunks.map(({ text }) => text) }
}

/** What is stored of the records whose ids begin with `at`. */
export async function storedOf({ storage, origin }: Subject, at: string): Promise<unknown> {
  const stored: unknown[] = []
  for (const name of ['r', 's', 'u']) {
    const id = at + name
    const [record, waits, asked] = [storage.runs.get(id), storage.runs.waits(id), storage.runs.asked(id)]
    stored.push(await record, idsOf(await waits).toSorted(), await asked)
  }
  for (const name of ['t', 'v', 'w', 'x', 'y', 'own'])
    stored.push((await storage.tokens.get(at + name, origin))?.record)
  for (const key of ['k', 'l']) {
    const read = await storage.chunks.read({ runId: `${at}r`, key, from: 0, limit: 100 })
    stored.push(read && { stream: read.stream, texts: read.chunks.map(({ text }) => text) })
  }
  return stored
}

/** Calls that read what is stored of an engine's runs, with the tokens as they were before their deadline. */
export const LOOK: readonly ((s: Subject, at: string) => Promise<unknown>)[] = [
  ...['r', 's', 'u'].map((name) => (s: Subject, at: string) => call(s.storage.runs.get(at + name))),
  ...['r', 's'].map(
    (name) => async (s: Subject, at: string) => idsOf(await s.storage.runs.waits(at + name)).toSorted(),
  ),
  ...['t', 'v'].map(
    (name) => async (s: Subject, at: string) => (await s.storage.tokens.get(at + name, s.at(50)))?.record,
  ),
]

/** A token, and whether runs wait for it. Where that is not answered, they wait for one that is not settled. */
export async function getWithWaiters(s: Subject, at: string): Promise<unknown> {
  const read = await s.storage.tokens.get(`${at}t`, s.at(20), { waiters: 9 })
  if (read === undefined) return undefined
  const { waiters, ...rest } = read
  return { ...rest, isAwaited: waiters === undefined ? read.record.status === 'WAITING' : waiters.length > 0 }
}

export async function pageOfTokens(s: Subject, filter: Partial<TokenFilter>, now: number): Promise<unknown> {
  const page = await s.storage.tokens.list({ kind: 'MANUAL', ...filter }, { limit: 9 }, s.at(now))
  return { records: page.records, settled: idsOf(page.settled).toSorted() }
}

/** What a tick answers of the records whose ids begin with `at`. */
export async function tick(
  s: Subject,
  at: string,
  { owner, now }: { readonly owner: string; readonly now: number },
): Promise<unknown> {
  const { alive, ready, settled, expired } = await s.tick(owner, now)
  const isOurs = (id: string): boolean => id.startsWith(at)
  return {
    alive,
    ready: ready.filter(({ runId }) => isOurs(runId)),
    settled: idsOf(settled).filter(isOurs).toSorted(),
    expired: idsOf(expired.map(({ record }) => record)).filter(isOurs),
  }
}

/** The answer to a claim. */
export class Claimed {
  readonly runs: readonly Pick<RunRecord, 'id' | 'epoch' | 'owner'>[]
  readonly ended: readonly RunRecord[]

  constructor(runs: readonly RunRecord[], ended: readonly RunRecord[]) {
    this.runs = runs.map(({ id, epoch, owner }) => ({ id, epoch, owner }))
    this.ended = ended
  }
}

export async function claimAll(s: Subject, at: string, fields: Partial<RunClaim>): Promise<Claimed> {
  const { now = s.origin, ...rest } = fields
  const { runs, ended } = await s.claim({ ...rest, taskIds: [at], limit: 5, now: now - s.origin })
  const ours = ended.map(({ record }) => record).filter(({ id }) => id.startsWith(at))
  return new Claimed(runs, ours)
}

/** The answer to a prune. */
export class Pruned {
  readonly count: number

  constructor(count: number) {
    this.count = count
  }
}

export async function prune(s: Subject): Promise<Pruned> {
  return new Pruned(await s.storage.prune({ before: s.at(200), now: s.at(200), limit: 100 }))
}

/** An engine of one meeting. */
export function ownerOf(at: string): string {
  return `${at}engine`
}

/** The fence of the first attempt. */
export function fence(at: string): { readonly runId: string; readonly epoch: number } {
  return { runId: `${at}r`, epoch: 1 }
}

export function attemptOf(at: string): {
  readonly runId: string
  readonly epoch: number
  readonly by: string
} {
  return { ...fence(at), by: A }
}

export function firstFence(at: string): Omit<RunFence, 'now'> {
  return { id: `${at}r`, epoch: 1, parks: 1, by: A }
}

/** A storage may answer without a promise. */
export async function call<Answer>(answer: Answer): Promise<Awaited<Answer>> {
  return await answer
}
