import type { RunRecord, StreamRecord } from '../../../contract/records.ts'
import type { ChunkAppend } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { chunkOf } from '../sample-records.ts'
import { like, refused, same } from '../sameness.ts'
import { A, B, type Subject } from '../subject.ts'

const KEY = 'k'
const HISTORY = { chunks: 100, bytes: 100_000 }

async function open(s: Subject, run: RunRecord): Promise<StreamRecord | undefined> {
  const { id, epoch, attempt, owner = A } = run
  return s.storage.chunks.open({ runId: id, key: KEY, epoch, attempt, by: owner, now: s.at(0) })
}

interface Append extends Partial<ChunkAppend> {
  readonly values: readonly unknown[]
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

async function read(s: Subject, from = 0, limit = 100): Promise<object | undefined> {
  const found = await s.storage.chunks.read({ runId: 'r', key: KEY, from, limit })
  return found && { ...found, chunks: found.chunks.map(({ text, value }) => [text, value]) }
}

async function lastOf(s: Subject, writer: string): Promise<number | undefined> {
  return (await s.storage.chunks.read({ runId: 'r', key: KEY, from: 0, limit: 0, writer }))?.written
}

function pairs(...values: readonly unknown[]): readonly unknown[] {
  return values.map((value) => [JSON.stringify(value), value])
}

async function stream(s: Subject): Promise<RunRecord> {
  const run = await s.start('r')
  await open(s, run)
  return run
}

/** Laws of streams, their segments and their chunks. */
export const chunkLaws: readonly Law[] = [
  {
    id: 'chunks.open/lists-its-key',
    law: 'Opening a stream begins a segment, and lists the key on the run, once.',
    async check(s) {
      const run = await s.start('r')
      same('a read before', await read(s), undefined)
      const opened = { runId: 'r', key: KEY, first: 0, next: 0, segments: [{ attempt: 1, first: 0 }] }
      same('the stream', await open(s, run), opened)
      like('the run', await s.storage.runs.get('r'), { streams: [KEY] })
    },
  },
  {
    id: 'chunks.open/again-is-the-same',
    law: 'Opening the segment of an attempt again answers it unchanged.',
    async check(s) {
      const run = await stream(s)
      await append(s, run, { values: ['a'] })
      like('the stream', await open(s, run), { next: 1, segments: [{ attempt: 1, first: 0 }] })
      like('the run', await s.storage.runs.get('r'), { streams: [KEY] })
    },
  },
  {
    id: 'chunks.open/stale',
    law: 'A stale epoch, another owner or a run that is over opens nothing: undefined.',
    async check(s) {
      const run = await s.start('r')
      same('another owner', await open(s, { ...run, owner: B }), undefined)
      same('an earlier epoch', await open(s, { ...run, epoch: run.epoch - 1 }), undefined)
      await s.update(run, { status: 'COMPLETED' })
      same('a run that is over', await open(s, run), undefined)
      same('a read', await read(s), undefined)
    },
  },
  {
    id: 'chunks.append/contiguous-and-in-order',
    law: 'A read answers exactly the chunks from its position, up to its limit, in order, with the stream as of that instant.',
    async check(s) {
      const run = await stream(s)
      await append(s, run, { values: ['a', { b: [1, null] }] })
      same('the second append', await append(s, run, { first: 2, values: ['é', 4] }), 'appended')
      like('all of it', await read(s), {
        first: 0,
        chunks: pairs('a', { b: [1, null] }, 'é', 4),
        stream: { next: 4 },
      })
      const { bytes = 0 } =
        (await s.storage.chunks.read({ runId: 'r', key: KEY, from: 1, limit: 1 }))?.chunks[0] ?? {}
      same('whether a chunk has bytes', bytes > 0, true)
      like('after the end', await read(s, 9), { chunks: [], stream: { next: 4 } })
      like('the middle', await read(s, 1, 2), { first: 1, chunks: pairs({ b: [1, null] }, 'é') })
      like('the end', await read(s, 4), { first: 4, chunks: [], stream: { next: 4 } })
      same(
        'an unknown key',
        await s.storage.chunks.read({ runId: 'r', key: 'x', from: 0, limit: 1 }),
        undefined,
      )
    },
  },
  {
    id: 'chunks.append/repeat-changes-nothing',
    law: 'Repeating an append within its segment changes nothing; chunks beyond the repeated ones are appended.',
    async check(s) {
      const run = await stream(s)
      await append(s, run, { values: ['a', 'b'] })
      same('the repetition', await append(s, run, { values: ['a', 'b'] }), 'appended')
      same('more from the same place', await append(s, run, { first: 1, values: ['b', 'c'] }), 'appended')
      like('the chunks', await read(s), { chunks: pairs('a', 'b', 'c') })
    },
  },
  {
    id: 'chunks.append/other-values-are-an-error',
    law: 'Appending different values at a taken position is an error.',
    async check(s) {
      const run = await stream(s)
      await append(s, run, { values: ['a', 'b'] })
      await refused('another value', () => append(s, run, { first: 1, values: ['x'] }))
      like('the chunks', await read(s), { chunks: pairs('a', 'b') })
    },
  },
  {
    id: 'chunks.append/gaps-are-an-error',
    law: 'A gap is an error.',
    async check(s) {
      const run = await stream(s)
      await refused('a gap', () => append(s, run, { first: 1, values: ['b'] }))
      like('the chunks', await read(s), { chunks: [], stream: { next: 0 } })
      await append(s, run, { values: ['a'] })
      await refused('a stream that is not open', () => append(s, run, { values: ['a'], key: 'l' }))
      await s.leave(A, 1)
      await s.tick(A, 1)
      const [second] = (await s.claim({ now: 1 })).runs
      if (second === undefined) return
      await refused('before it is opened again', () => append(s, second, { first: 1, values: ['b'] }))
      await open(s, second)
      await refused('among the chunks of another attempt', () => append(s, second, { values: ['a', 'b'] }))
      like('the chunks in the end', await read(s), { chunks: pairs('a'), stream: { next: 1 } })
    },
  },
  {
    id: 'chunks.append/stale',
    law: 'A stale epoch, another owner or a run that is over appends nothing: stale.',
    async check(s) {
      const run = await stream(s)
      same('another owner', await append(s, run, { values: ['a'], by: B }), 'stale')
      same('an earlier epoch', await append(s, { ...run, epoch: run.epoch - 1 }, { values: ['a'] }), 'stale')
      await s.update(run, { status: 'COMPLETED' })
      same('a run that is over', await append(s, run, { values: ['a'] }), 'stale')
      like('the chunks', await read(s), { chunks: [] })
    },
  },
  {
    id: 'chunks.append/ends-its-segment',
    law: 'The end is stored with its reason, and repeating it changes nothing.',
    async check(s) {
      const run = await stream(s)
      const end = { reason: 'failed', errorJson: '{"message":"no"}' } as const
      await append(s, run, { values: ['a'], end })
      same('the repetition', await append(s, run, { values: ['a'], end }), 'appended')
      same('the repetition without its end', await append(s, run, { values: ['a'] }), 'appended')
      like('the stream', await read(s), { stream: { segments: [{ attempt: 1, first: 0, end }] } })
    },
  },
  {
    id: 'chunks.append/goes-on-after-its-end',
    law: 'Appending to a segment after its end opens it again.',
    async check(s) {
      const run = await stream(s)
      await append(s, run, { values: ['a'], end: { reason: 'done' } })
      await append(s, run, { first: 1, values: ['b'] })
      like('the stream', await read(s), {
        chunks: pairs('a', 'b'),
        stream: { segments: [{ attempt: 1, first: 0, end: undefined }] },
      })
    },
  },
  {
    id: 'runs.update/final-interrupts-its-streams',
    law: 'Reaching a final status ends the open segments of the run as interrupted.',
    async check(s) {
      const run = await stream(s)
      await s.update(run, { status: 'CANCELED' })
      like('the stream', await read(s), { stream: { segments: [{ end: { reason: 'interrupted' } }] } })
    },
  },
  {
    id: 'runs.claim/interrupts-streams',
    law: 'A claim ends the open segments of the previous attempt as interrupted.',
    async check(s) {
      await s.tick(B, 0, { leaseUntil: s.at(100) })
      await open(s, await s.start('r', {}, B))
      await s.claim({ now: 100 })
      like('the stream', await read(s), { stream: { segments: [{ end: { reason: 'interrupted' } }] } })
    },
  },
  {
    id: 'chunks.open/new-attempt-new-segment',
    law: 'A second attempt opens a segment of its own after the last chunk; existing chunks keep their sequence.',
    async check(s) {
      await s.tick(B, 0, { leaseUntil: s.at(100) })
      const first = await s.start('r', {}, B)
      await open(s, first)
      await append(s, first, { values: ['a', 'b'] })
      const [second] = (await s.claim({ now: 100 })).runs
      if (second === undefined) return
      like('the stream', await open(s, second), {
        next: 2,
        segments: [
          { attempt: 1, first: 0, end: { reason: 'interrupted' } },
          { attempt: 2, first: 2, end: undefined },
        ],
      })
      same('an append of the first attempt', await append(s, first, { first: 2, values: ['x'] }), 'stale')
      same('an append of the second', await append(s, second, { first: 2, values: ['c'] }), 'appended')
      like('the chunks', await read(s), { chunks: pairs('a', 'b', 'c') })
    },
  },
  {
    id: 'chunks.append/keeps-its-writers',
    law: 'How far each writer has got is stored with its chunks, never decreases, and is answered in later attempts; a stale append changes nothing.',
    async check(s) {
      await s.tick(B, 0, { leaseUntil: s.at(100) })
      const first = await s.start('r', {}, B)
      same('a writer before the stream', await lastOf(s, 'c'), undefined)
      await open(s, first)
      const written = [
        { writer: 'c', last: 7 },
        { writer: 'd', last: 0 },
      ]
      await append(s, first, { values: ['a', 'b'], written })
      await append(s, first, { values: ['a', 'b'], written: [{ writer: 'c', last: 6 }] })
      await append(s, first, { first: 2, values: ['e'] })
      const [second] = (await s.claim({ now: 100 })).runs
      if (second === undefined) return
      await append(s, first, { first: 3, values: ['x'], written: [{ writer: 'c', last: 8 }] })
      same('a writer of the first attempt', await lastOf(s, 'c'), 7)
      await open(s, second)
      same('it, in the second attempt', await lastOf(s, 'c'), 7)
      await append(s, second, { first: 3, values: ['f'], written: [{ writer: 'c', last: 2 ** 40 }] })
      same('it, with more chunks', await lastOf(s, 'c'), 2 ** 40)
      same('another writer', await lastOf(s, 'd'), 0)
      same('an unknown writer', await lastOf(s, 'e'), undefined)
      like('the chunks', await read(s), { chunks: pairs('a', 'b', 'e', 'f') })
    },
  },
  {
    id: 'chunks.append/keeps-the-newest',
    law: 'A stream keeps at least the newest chunks that its history allows; a read tells its first position.',
    capability: 'boundedHistory',
    async check(s) {
      const run = await stream(s)
      await append(s, run, { values: [0, 1, 2, 3, 4], history: { chunks: 2, bytes: 100_000 } })
      like('the chunks', await read(s), { first: 3, chunks: pairs(3, 4), stream: { first: 3, next: 5 } })
    },
  },
]
