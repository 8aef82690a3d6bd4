import { createEngine, task } from 'waitpoint'
import type { Contest, Contestant } from '../contest.ts'
import type { Figure } from '../lab.ts'
import type { Goal, Measurement } from '../measurement.ts'
import { StreamBed } from '../stream-bed.ts'
import { turn } from '../turn.ts'

interface ReaderContest extends Contest<'ours' | 'bare'> {
  readonly goal?: Goal
}

const WORD = 'a few words of a model'
const BATCH = 256
/** The number of chunks kept for a reader that falls behind. */
const KEPT = 10_000
const COURSE = { rounds: 5, warmUps: 4 } as const

const contests: readonly ReaderContest[] = [
  {
    name: 'chunk to the task and a reader, in batches, beside tee()',
    count: 100_000,
    ...COURSE,
    goal: { kind: 'ratio', most: 1 / 20 },
    sides: { ours: batchesOurs, bare: (count) => readersOfTee({ count, readers: 2 }) },
  },
  {
    name: '  the same, one by one with for await',
    count: KEPT,
    ...COURSE,
    sides: {
      ours: (count) => readersOurs({ count, readers: 1, isTaskReading: true }),
      bare: (count) => readersOfTee({ count, readers: 2 }),
    },
  },
  ...[1, 10, 1_000].map((readers) => fanOut(readers)),
  {
    name: 'chunk to one of 10 subscribers, beside a slow one, as without it',
    count: KEPT,
    ...COURSE,
    goal: { kind: 'ratio', most: 1.25 },
    sides: {
      ours: (count) => readersOurs({ count: count / 10, readers: 10, hasSlow: true }),
      bare: (count) => readersOurs({ count: count / 10, readers: 10 }),
    },
  },
]

/** Streams with readers, compared with `ReadableStream.tee()`, the way to read a stream twice without an engine. */
export const readers: Figure = {
  name: 'readers',
  contests,
  async measure(lab) {
    const measurements: Measurement[] = []
    for (const contest of contests) {
      const { name: what, goal } = contest
      const count = lab.count(contest.count)
      const sides = await lab.hold(contest)
      measurements.push({ what, unit: 'ns', count, ...sides, ...(goal === undefined ? {} : { goal }) })
    }
    return measurements
  },
}

/** One piece of work is one chunk received by one subscriber. */
function fanOut(readers: number): ReaderContest {
  return {
    name: `chunk to one of ${readers.toLocaleString('en-US')} subscribers, beside ${readers === 1 ? 'a plain stream' : 'tee()'}`,
    count: KEPT,
    ...COURSE,
    sides: {
      ours: (count) => readersOurs({ count: Math.ceil(count / readers), readers }),
      bare: (count) => readersOfTee({ count: Math.ceil(count / readers), readers }),
    },
  }
}

/** The ring alone: 256 chunks are written, and two cursors read them. */
export async function batchesOurs(count: number): Promise<Contestant> {
  const bed = await StreamBed.open(WORD)
  const channel = await bed.channel('written')
  const positions = [0, 0]
  const take = (cursor: number): void => {
    const { chunks = [] } = channel.read(positions[cursor] ?? 0, BATCH) ?? {}
    for (const chunk of chunks)
      if (chunk.value === undefined) throw new Error('Cannot read on: a chunk is lost')
    positions[cursor] = (positions[cursor] ?? 0) + chunks.length
  }
  return {
    pass: async () => {
      for (let left = count; left > 0; left -= BATCH) {
        for (let batch = Math.min(left, BATCH); batch > 0; batch--) {
          const stored = channel.append(WORD)
          if (stored !== undefined) await stored
        }
        take(0)
        take(1)
      }
      await channel.flushed()
    },
    close: () => bed.close(),
  }
}

interface Audience {
  /** The number of chunks in the stream. */
  readonly count: number
  readonly readers: number
  readonly isTaskReading?: boolean
  readonly hasSlow?: boolean
}

/** A run that pipes a source, and subscribers that read it with `for await` from the first chunk to the last. */
export function readersOurs({ count, readers, isTaskReading, hasSlow }: Audience): Contestant {
  const speak = task({
    id: 'speak',
    run: async (_: null, { metadata }) => {
      const stream = await metadata.stream('words', words(count))
      if (isTaskReading === true) await readAll(stream)
    },
  })
  const engine = createEngine({ tasks: [speak] })
  return {
    pass: async () => {
      const run = await engine.trigger(speak, null)
      const stop = new AbortController()
      const slow =
        hasSlow === true ? readSlowly(engine.streams.read(run.id, 'words'), stop.signal) : undefined
      const start = performance.now()
      await Promise.all(Array.from({ length: readers }, () => readAll(engine.streams.read(run.id, 'words'))))
      // The slow reader leaves now, so it is not awaited.
      const overriddenDuration = performance.now() - start
      stop.abort()
      await Promise.all([slow, run.result()])
      return { overriddenDuration }
    },
    close: () => engine.close(),
  }
}

/** As many branches of one stream, in a tree, so that each branch is behind as few tees as possible. */
function readersOfTee({ count, readers }: Audience): Contestant {
  return {
    pass: async () => {
      let branches = [ReadableStream.from(words(count))]
      while (branches.length < readers) {
        const [first, ...others] = branches
        if (first === undefined) break
        branches = [...others, ...first.tee()]
      }
      await Promise.all(branches.map((branch) => readAll(branch)))
    },
  }
}

async function* words(count: number): AsyncGenerator<string> {
  for (let index = 0; index < count; index++) yield WORD
}

async function readAll(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const chunk of stream)
    if (chunk === undefined) throw new Error('Cannot read on: a chunk is lost')
}

/** Reads one chunk in twenty turns of the event loop, until the other readers have finished. */
async function readSlowly(stream: AsyncIterable<unknown>, stop: AbortSignal): Promise<void> {
  for await (const _ of stream) {
    for (let turns = 0; turns < 20; turns++) await turn()
    if (stop.aborted) return
  }
}
