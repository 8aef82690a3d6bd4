import type { RunRecord, SegmentEnd } from '../../../contract/records.ts'
import type { ChunkAdd, ChunkAppend } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, refused, same } from '../sameness.ts'
import { chunkOf } from '../sample-records.ts'
import { A, B, type Subject } from '../subject.ts'

const KEY = 'k'
const HISTORY = { chunks: 100, bytes: 100_000 }
const DONE: SegmentEnd = { reason: 'done' }
const FAILED: SegmentEnd = { reason: 'failed', errorJson: '{"message":"no"}' }

interface Add extends Partial<ChunkAdd> {
  readonly values?: readonly unknown[]
  /** The number of the last chunk of the writer. Default: they are its first ones. */
  readonly last?: number
}

interface Append extends Partial<ChunkAppend> {
  readonly values: readonly unknown[]
}

/** An attempt of `writer` adds to the stream of run `r`. */
async function add(
  s: Subject,
  writer: RunRecord,
  { values = [], last = values.length - 1, ...fields }: Add = {},
): Promise<string | undefined> {
  const { id, epoch, owner = A } = writer
  return s.storage.chunks.add?.({
    runId: 'r',
    key: KEY,
    fence: { runId: id, epoch },
    chunks: values.map(chunkOf),
    written: values.length === 0 ? undefined : { writer: `run ${id} ${epoch}`, last },
    history: HISTORY,
    by: owner,
    now: s.at(0),
    ...fields,
  })
}

async function open(s: Subject, run: RunRecord): Promise<unknown> {
  const { id, epoch, attempt, owner = A } = run
  return s.storage.chunks.open({ runId: id, key: KEY, epoch, attempt, by: owner, now: s.at(0) })
}

async function append(s: Subject, run: RunRecord, { values, ...fields }: Append): Promise<unknown> {
  return s.storage.chunks.append({
    runId: run.id,
    key: KEY,
    epoch: run.epoch,
    first: 0,
    chunks: values.map(chunkOf),
    history: HISTORY,
    by: run.owner ?? A,
    ...fields,
  })
}

interface Seen {
  readonly values: readonly unknown[]
  /** Of each segment its attempt, its first chunk, and how it has ended. */
  readonly segments: readonly (readonly unknown[])[]
}

async function seen(s: Subject): Promise<Seen | undefined> {
  const read = await s.storage.chunks.read({ runId: 'r', key: KEY, from: 0, limit: 100 })
  return (
    read && {
      values: read.chunks.map(({ value }) => value),
      segments: read.stream.segments.map(({ attempt, first, end }) => [
        attempt,
        first,
        end?.reason === 'failed' ? end.errorJson : end?.reason,
      ]),
    }
  )
}

const laws: readonly Law[] = [
  {
    id: 'chunks.add/to-a-run-that-waits',
    law: 'An attempt of another run, of whichever engine, adds chunks to the stream of a parked run, which stays as it is; the key is listed.',
    async check(s) {
      await s.tick(B)
      const run = await s.startParked('r', 't')
      const child = await s.start('c', {}, B)
      same('the answer', await add(s, child, { values: ['a', 'b'] }), 'added')
      same('more', await add(s, child, { values: ['c'], last: 2 }), 'added')
      same('the stream', await seen(s), { values: ['a', 'b', 'c'], segments: [[1, 0, undefined]] })
      const { updatedAt: _, ...parked } = run
      like('the run', await s.storage.runs.get('r'), { ...parked, streams: [KEY] })
    },
  },
  {
    id: 'chunks.add/after-a-dead-owner',
    law: 'Chunks are added to a parked run whose owner is gone, and it is not claimed by that.',
    async check(s) {
      await s.tick(B, 0, { leaseUntil: s.at(100) })
      await s.startParked('r', 't', B)
      const child = await s.start('c')
      same('the claim', (await s.claim({ now: 200 })).runs, [])
      same('the answer', await add(s, child, { values: ['a'], now: s.at(200) }), 'added')
      same('the claim after it', (await s.claim({ now: 201 })).runs, [])
      like('the run', await s.storage.runs.get('r'), { status: 'WAITING', streams: [KEY] })
      like('the stream', await seen(s), { values: ['a'] })
    },
  },
  {
    id: 'chunks.add/stale',
    law: 'An attempt that has lost its run, or another owner, adds nothing: stale.',
    async check(s) {
      await s.start('r')
      const child = await s.start('c')
      same('another owner', await add(s, child, { values: ['a'], by: B }), 'stale')
      same('an earlier epoch', await add(s, { ...child, epoch: child.epoch - 1 }, { values: ['a'] }), 'stale')
      await s.update(child, { status: 'CANCELED' })
      same('a run that is over', await add(s, child, { values: ['a'] }), 'stale')
      same('the stream', await seen(s), undefined)
      like('the run', await s.storage.runs.get('r'), { streams: [] })
    },
  },
  {
    id: 'chunks.add/closed',
    law: 'A run that is unknown, has not begun or has ended takes no chunks: closed. Between two attempts it does.',
    async check(s) {
      const child = await s.start('c')
      same('an unknown run', await add(s, child, { values: ['a'] }), 'closed')
      await s.insertRun('r')
      same('before it begins', await add(s, child, { values: ['a'] }), 'closed')
      const [run] = (await s.claim({ now: 1 })).runs
      if (run === undefined) return
      await s.update(run, { status: 'DELAYED', wakeAt: s.at(100), slot: false })
      same('between two attempts', await add(s, child, { values: ['a'] }), 'added')
      await s.update(run, { status: 'COMPLETED' })
      same('after its end', await add(s, child, { values: ['b'], last: 1 }), 'closed')
      same('the stream', await seen(s), { values: ['a'], segments: [[1, 0, 'interrupted']] })
    },
  },
  {
    id: 'chunks.add/repeat-changes-nothing',
    law: 'Chunks up to the stored number of their writer are not added again, whatever came between.',
    async check(s) {
      await s.start('r')
      const [one, other] = [await s.start('c'), await s.start('d')]
      await add(s, one, { values: ['a', 'b'] })
      await add(s, other, { values: ['x'] })
      same('the repetition', await add(s, one, { values: ['a', 'b'] }), 'added')
      same('some of them', await add(s, one, { values: ['b', 'c'], last: 2 }), 'added')
      like('the stream', await seen(s), { values: ['a', 'b', 'x', 'c'] })
    },
  },
  {
    id: 'chunks.append/after-those-of-others',
    law: 'An append where other runs have added chunks appends nothing, and answers where the next chunk goes.',
    async check(s) {
      const run = await s.start('r')
      const child = await s.start('c')
      await open(s, run)
      await append(s, run, { values: ['a'] })
      await add(s, child, { values: ['x', 'y'] })
      same('the append', await append(s, run, { values: ['b'], first: 1 }), { next: 3 })
      same('the append at its place', await append(s, run, { values: ['b'], first: 3 }), 'appended')
      like('the stream', await seen(s), { values: ['a', 'x', 'y', 'b'] })
    },
  },
  {
    id: 'chunks.append/repeats-before-those-of-others',
    law: 'A repeated append is known although other runs have added chunks after it; other values at its place are an error.',
    async check(s) {
      const run = await s.start('r')
      const child = await s.start('c')
      await add(s, child, { values: ['x'] })
      await open(s, run)
      await append(s, run, { values: ['a', 'b'], first: 1 })
      await add(s, child, { values: ['y'], last: 1 })
      same('the repetition', await append(s, run, { values: ['a', 'b'], first: 1 }), 'appended')
      await refused('other values', () => append(s, run, { values: ['a', 'z'], first: 1 }))
      like('the stream', await seen(s), { values: ['x', 'a', 'b', 'y'] })
    },
  },
  {
    id: 'chunks.append/unopened-between-others',
    law: 'The run that has the stream opens a segment that others have begun before it appends.',
    async check(s) {
      const run = await s.start('r')
      await add(s, await s.start('c'), { values: ['x'] })
      await refused('without', () => append(s, run, { values: ['a'], first: 1 }))
      like('the opened stream', await open(s, run), { next: 1, segments: [{ attempt: 1, first: 0 }] })
      same('the append', await append(s, run, { values: ['a'], first: 1 }), 'appended')
    },
  },
  {
    id: 'chunks.add/ends-when-all-have',
    law: 'A segment ends when all runs that write it have ended it, with the worst end; an end is taken back by more chunks.',
    async check(s) {
      await s.start('r')
      const [one, other] = [await s.start('c'), await s.start('d')]
      await add(s, one, { values: ['a'] })
      await add(s, other)
      await add(s, one, { end: FAILED })
      same('one has ended', await seen(s), { values: ['a'], segments: [[1, 0, undefined]] })
      await add(s, other, { values: ['b'], end: DONE })
      same('both have', await seen(s), { values: ['a', 'b'], segments: [[1, 0, '{"message":"no"}']] })
      await add(s, one, { values: ['c'], last: 1 })
      same('one goes on', await seen(s), { values: ['a', 'b', 'c'], segments: [[1, 0, undefined]] })
      await add(s, one, { end: DONE })
      like('it has ended again', await seen(s), { segments: [[1, 0, 'done']] })
    },
  },
  {
    id: 'chunks.add/ends-with-its-run',
    law: 'The run that has the stream is one of those that write it, from its open on.',
    async check(s) {
      const run = await s.start('r')
      const child = await s.start('c')
      await add(s, child, { values: ['a'], end: DONE })
      like('without it', await seen(s), { segments: [[1, 0, 'done']] })
      await open(s, run)
      like('opened by it', await seen(s), { segments: [[1, 0, undefined]] })
      await add(s, child)
      await append(s, run, { values: ['b'], first: 1, end: DONE })
      like('ended by it alone', await seen(s), { segments: [[1, 0, undefined]] })
      await add(s, child, { end: DONE })
      same('ended by all', await seen(s), { values: ['a', 'b'], segments: [[1, 0, 'done']] })
    },
  },
  {
    id: 'chunks.add/a-later-attempt-takes-over',
    law: 'A later attempt of a run that writes takes the place of an earlier one, which was lost; its chunks come after.',
    async check(s) {
      await s.tick(B, 0, { leaseUntil: s.at(100) })
      await s.startParked('r', 't')
      const first = await s.start('c', {}, B)
      await add(s, first, { values: ['a'] })
      const [second] = (await s.claim({ now: 100 })).runs
      if (second === undefined) return
      same('the first attempt', await add(s, first, { values: ['x'], last: 1 }), 'stale')
      await add(s, second, { values: ['a', 'b'], end: DONE })
      same('the stream', await seen(s), { values: ['a', 'a', 'b'], segments: [[1, 0, 'done']] })
    },
  },
  {
    id: 'chunks.add/to-a-new-attempt',
    law: 'Chunks that are added during a new attempt belong to a segment of it, which those of the earlier one have no part in.',
    async check(s) {
      await s.tick(B, 0, { leaseUntil: s.at(100) })
      const first = await s.start('r', {}, B)
      const [one, other] = [await s.start('c'), await s.start('d')]
      await open(s, first)
      await add(s, one, { values: ['a'] })
      await s.claim({ now: 100 })
      await add(s, other, { values: ['b'], end: DONE })
      same('the stream', await seen(s), {
        values: ['a', 'b'],
        segments: [
          [1, 0, 'interrupted'],
          [2, 1, 'done'],
        ],
      })
    },
  },
  {
    id: 'chunks.add/interrupted-by-the-end',
    law: 'The end of the run that has the stream interrupts a segment that another run still writes, and no other.',
    async check(s) {
      const run = await s.start('r')
      const child = await s.start('c')
      await add(s, child, { values: ['a'] })
      await s.update(run, { status: 'COMPLETED' })
      like('a stream that is written', await seen(s), { segments: [[1, 0, 'interrupted']] })
      same('the writer', await add(s, child, { values: ['b'], last: 1 }), 'closed')
    },
  },
]

/** Laws of a storage with `add`. */
export const addLaws: readonly Law[] = laws.map((law) => ({
  ...law,
  optional: '`add` of its chunks',
  async check(s, another) {
    if (s.storage.chunks.add !== undefined) await law.check(s, another)
  },
}))
