import type { RunRecord } from '../../../contract/records.ts'
import type { PruneRequest } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { chunkOf } from '../sample-records.ts'
import { Mismatch, same } from '../sameness.ts'
import { A, idsOf, type Subject } from '../subject.ts'

/** More batches than any law needs for its records. */
const BATCHES = 20
const HISTORY = { chunks: 100, bytes: 100_000 }

/** Prunes in batches until nothing is left to prune. */
async function prune(s: Subject, before: number, fields: Partial<PruneRequest> = {}): Promise<void> {
  const request = { before: s.at(before), now: s.at(before), limit: 100, ...fields }
  for (let batch = 0; batch < BATCHES; batch++) {
    if ((await s.storage.prune(request)) === 0) return
  }
  throw new Mismatch('records that went', { expected: `0 after ${BATCHES} batches`, seen: 'more' })
}

async function kept(s: Subject, ...ids: readonly string[]): Promise<readonly string[]> {
  const found: string[] = []
  for (const id of ids) {
    const record = id.startsWith('run')
      ? await s.storage.runs.get(id)
      : await s.storage.tokens.get(id, s.at(0))
    if (record !== undefined) found.push(id)
  }
  return found
}

async function finished(s: Subject, id: string, now: number): Promise<void> {
  await s.update(await s.start(id), { status: 'COMPLETED' }, now)
}

const KEYS = ['k', 'l'] as const

/** A run that executes, and opens two streams. */
async function openStreams(s: Subject, id: string): Promise<RunRecord> {
  const run = await s.start(id)
  const { epoch, attempt } = run
  for (const key of KEYS) await s.storage.chunks.open({ runId: id, key, epoch, attempt, by: A, now: s.at(0) })
  return run
}

/** Adds chunks that a writer from outside has sent to both streams. */
async function append(s: Subject, { id, epoch }: RunRecord, values: readonly string[]): Promise<void> {
  const written = [{ writer: 'w', last: values.length }]
  const request = {
    runId: id,
    epoch,
    first: 0,
    chunks: values.map(chunkOf),
    written,
    history: HISTORY,
    by: A,
  }
  for (const key of KEYS) await s.storage.chunks.append({ ...request, key })
}

async function streamsOf(s: Subject, runId: string): Promise<readonly unknown[]> {
  const streams: unknown[] = []
  for (const key of KEYS) {
    const read = await s.storage.chunks.read({ runId, key, from: 0, limit: 9, writer: 'w' })
    const texts = read?.chunks.map(({ text }) => text)
    streams.push(read && { next: read.stream.next, texts, written: read.written })
  }
  return streams
}

/** Laws of `prune`: the records it removes, and those it keeps. */
export const pruneLaws: readonly Law[] = [
  {
    id: 'prune/keeps-what-is-younger',
    law: 'Only records that ended before the instant are pruned; others stay, whatever their age.',
    async check(s) {
      await s.start('run-live')
      await s.insertToken('open')
      await finished(s, 'run-young', 10)
      await s.insertToken('young')
      await s.settle('young', 10)
      await prune(s, 10)
      same('what is left', await kept(s, 'run-live', 'open', 'run-young', 'young'), [
        'run-live',
        'open',
        'run-young',
        'young',
      ])
    },
  },
  {
    id: 'prune/drops-what-is-over',
    law: 'Finished runs are pruned with their streams and their own tokens, and settled tokens by their own age; a manual token does not depend on its run.',
    async check(s) {
      const run = await s.start('run-1')
      const stream = { runId: 'run-1', key: 'k' }
      await s.storage.chunks.open({ ...stream, epoch: run.epoch, attempt: 1, by: 'engine-a', now: s.at(0) })
      await s.insertToken('sleep', { kind: 'SLEEP', timeoutAt: s.at(900), runId: 'run-1' })
      await s.insertToken('manual', { runId: 'run-1' })
      await s.insertToken('of-another', { kind: 'SLEEP', timeoutAt: s.at(900), runId: 'run-2' })
      await s.insertToken('settled')
      await s.settle('settled', 5)
      await s.update(run, { status: 'COMPLETED' }, 5)
      await prune(s, 6)
      same('what is left', await kept(s, 'run-1', 'sleep', 'manual', 'settled'), ['manual'])
      same('its stream', await s.storage.chunks.read({ ...stream, from: 0, limit: 1 }), undefined)
      same('the other token', await kept(s, 'of-another'), ['of-another'])
      same('its place in lists', idsOf((await s.storage.runs.list({}, { limit: 5 })).records), [])
    },
  },
  {
    id: 'prune/small-batches',
    law: 'One call prunes at most the given number of records, and answers the number.',
    async check(s) {
      for (const id of ['run-1', 'run-2', 'run-3']) await finished(s, id, 1)
      const request = { before: s.at(9), now: s.at(9), limit: 2 }
      same('the first call', await s.storage.prune(request), 2)
      same('what is left', idsOf((await s.storage.runs.list({}, { limit: 5 })).records).length, 1)
      same('the second call', await s.storage.prune(request), 1)
      for (const id of ['t1', 't2', 't3']) {
        await s.insertToken(id)
        await s.settle(id, 1)
      }
      same('a call for tokens', await s.storage.prune(request), 2)
      same('tokens that are left', (await kept(s, 't1', 't2', 't3')).length, 1)
      await prune(s, 9)
      for (let limit = 1; limit <= 6; limit++) {
        const owner = await s.start(`run-of-${limit}`)
        const [id, ids] = [`before-${limit}`, ['s1', 's2', 's3']]
        for (const one of ids) await s.insertToken(one, { kind: 'SLEEP', runId: owner.id })
        await s.insertToken(id)
        await s.settle(id)
        await s.update(owner, { status: 'COMPLETED' }, 1)
        for (let left = 5; left > 0;) {
          const counted = await s.storage.prune({ ...request, limit })
          const now = (await kept(s, id, owner.id, ...ids)).length
          same(`records that went, of at most ${limit}`, left - now, Math.min(limit, left))
          same(`their number, of at most ${limit}`, counted, left - now)
          left = now
        }
      }
    },
  },
  {
    id: 'prune/drops-streams',
    law: 'With a run its streams are pruned, with their chunks and writers, and those of no other run.',
    async check(s) {
      const over = await openStreams(s, 'run-1')
      await append(s, over, ['a', 'b', 'c'])
      await append(s, await openStreams(s, 'run-2'), ['d', 'e'])
      await s.update(over, { status: 'COMPLETED' }, 1)
      await prune(s, 5)
      same('its streams', await streamsOf(s, 'run-1'), [undefined, undefined])
      const other = { next: 2, texts: ['"d"', '"e"'], written: 2 }
      same('those of another run', await streamsOf(s, 'run-2'), [other, other])
      // Ids are not used twice, but nothing may be left that would be found then.
      const again = await openStreams(s, 'run-1')
      const empty = { next: 0, texts: [], written: undefined }
      same('streams of a run with its id', await streamsOf(s, 'run-1'), [empty, empty])
      await append(s, again, ['x'])
      const written = { next: 1, texts: ['"x"'], written: 1 }
      same('what is written to them', await streamsOf(s, 'run-1'), [written, written])
    },
  },
  {
    id: 'prune/keeps-what-has-a-slot',
    law: 'A canceled run stays while it holds a slot.',
    async check(s) {
      await s.update(await s.start('run-1'), { status: 'CANCELED', slot: true, slotUntil: s.at(500) }, 1)
      await prune(s, 10)
      same('while it has it', await kept(s, 'run-1'), ['run-1'])
      await s.update({ id: 'run-1' }, { slot: false }, 11)
      await prune(s, 12)
      same('when it is given back', await kept(s, 'run-1'), [])
    },
  },
  {
    id: 'prune/keeps-what-a-key-holds',
    law: 'A record stays until its idempotency key has expired.',
    async check(s) {
      const key = { scope: 's', value: 'v', expiresAt: s.at(50) }
      await s.insertToken('t', { key })
      await s.settle('t')
      await prune(s, 49)
      same('before', await kept(s, 't'), ['t'])
      await prune(s, 50)
      same('from then on', await kept(s, 't'), [])
    },
  },
  {
    id: 'prune/keeps-what-a-root-may-see',
    law: 'Records of a run whose root is not final stay.',
    async check(s) {
      const root = await s.start('run-root')
      const child = await s.start('run-child', { rootId: 'run-root', parentId: 'run-root' })
      await s.update(child, { status: 'COMPLETED' })
      await s.insertToken('t', { runId: 'run-child' })
      await s.settle('t')
      await prune(s, 10)
      same('while the root lives', await kept(s, 'run-child', 't'), ['run-child', 't'])
      await s.update(root, { status: 'COMPLETED' }, 5)
      await prune(s, 10)
      same('when it is over', await kept(s, 'run-root', 'run-child', 't'), [])
    },
  },
  {
    id: 'prune/keeps-what-was-asked-for',
    law: 'What a live run has asked for stays, also while it stands still and when its root is over.',
    async check(s) {
      const root = await s.start('run-root')
      const run = await s.start('run-1', { rootId: 'run-root', parentId: 'run-root' })
      const lineage = { rootId: 'run-root', parentId: 'run-1' }
      const child = await s.start('run-child', { ...lineage, key: { scope: 'run-1', value: '1' } })
      await s.insertToken('t', { runId: 'run-1', key: { scope: 'run-1', value: '2' } })
      await s.update(run, { status: 'PENDING_VERSION' }, 1)
      await s.settle('t', 2)
      await s.update(child, { status: 'COMPLETED' }, 2)
      await s.update(root, { status: 'COMPLETED' }, 3)
      await prune(s, 10)
      same('while it stands still', await kept(s, 'run-1', 'run-child', 't'), ['run-1', 'run-child', 't'])
      await s.update(await s.start('run-2', { key: { scope: 'run-1', value: '3', expiresAt: s.at(5) } }), {
        status: 'COMPLETED',
      })
      await prune(s, 10)
      same('a run with a key that has expired', await kept(s, 'run-2'), [])
      await s.update(run, { status: 'CANCELED' }, 5)
      await prune(s, 10)
      same('when it is over', await kept(s, 'run-root', 'run-1', 'run-child', 't'), [])
    },
  },
  {
    id: 'prune/keeps-what-is-waited-for',
    law: 'A settled token stays while a live run has a wait for it.',
    async check(s) {
      const run = await s.start('run-1')
      await s.insertToken('t')
      await s.wait(run, 't')
      await s.settle('t')
      const child = await s.start('run-child')
      await s.wait(run, 'run:run-child')
      await s.update(child, { status: 'COMPLETED' })
      await prune(s, 10)
      same('while the run lives', await kept(s, 't', 'run-child'), ['t', 'run-child'])
    },
  },
  {
    id: 'prune/keeps-an-answer-to-come',
    law: 'A completed token that no run created stays until its deadline, whatever its age and the number to keep: the run it was completed for may be yet to come.',
    async check(s) {
      await s.insertToken('t', { timeoutAt: s.at(50) })
      await s.settle('t', 1)
      await prune(s, 49)
      same('before its deadline', await kept(s, 't'), ['t'])
      await prune(s, 49, { keep: 0 })
      same('when too many have ended', await kept(s, 't'), ['t'])
      const run = await s.start('run-1')
      await s.insertToken('of a run', { timeoutAt: s.at(5_000), runId: 'run-1' })
      await s.insertToken('once', { kind: 'ONCE', timeoutAt: s.at(5_000) })
      await s.insertToken('timed out', { timeoutAt: s.at(2) })
      for (const id of ['of a run', 'once']) await s.settle(id, 1)
      await s.storage.tokens.get('timed out', s.at(2))
      await s.update(run, { status: 'COMPLETED' }, 2)
      await prune(s, 49)
      same('others', await kept(s, 'of a run', 'once', 'timed out'), [])
      await prune(s, 50)
      same('from then on', await kept(s, 't'), [])
    },
  },
  {
    id: 'prune/keeps-the-newest',
    law: 'Beyond the number to keep, the oldest records are pruned first, whatever their age.',
    async check(s) {
      await s.start('run-live')
      await s.insertToken('open')
      await s.insertRun('run-queued', { taskId: 'other' })
      for (const at of [1, 2, 3, 4]) await finished(s, `run-${at}`, at)
      same('one call', await s.storage.prune({ before: s.at(0), keep: 2, limit: 100, now: s.at(0) }), 2)
      const ids = ['run-1', 'run-2', 'run-3', 'run-4', 'run-live', 'run-queued', 'open']
      same('what is left', await kept(s, ...ids), ids.slice(2))
    },
  },
]
