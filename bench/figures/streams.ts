import type { Contest, Contestant } from '../contest.ts'
import type { Figure } from '../lab.ts'
import type { Measurement } from '../measurement.ts'
import { StreamBed } from '../stream-bed.ts'

interface StreamContest extends Contest<'ours' | 'bare'> {
  /** The maximum of nanoseconds for each chunk. */
  readonly mostNs: number
}

/** The backlog at which a source is held back, and the batch of a reader: equal on both sides. */
const PENDING = 1_024
const BATCH = 256
const WORD = 'a few words of a model'
const COURSE = { count: 500_000, rounds: 20, warmUps: 3 } as const

const contests: readonly StreamContest[] = [
  appendContest('chunk appended, a string', { chunk: () => WORD, mostNs: 40 }),
  appendContest('chunk appended, a small object', { chunk: smallObject, mostNs: 150 }),
  {
    name: 'chunk read, 256 at a time',
    ...COURSE,
    mostNs: 20,
    sides: { ours: readOurs, bare: (count) => readBare(count) },
  },
]

/** Chunks of a stream: written without a reader, storage included, and read in batches. */
export const streams: Figure = {
  name: 'streams',
  contests,
  async measure(lab) {
    const measurements: Measurement[] = []
    for (const contest of contests) {
      const { name: what, mostNs } = contest
      const goal = { kind: 'value', most: mostNs } as const
      measurements.push({
        what,
        unit: 'ns',
        count: lab.count(COURSE.count),
        ...(await lab.hold(contest)),
        goal,
      })
    }
    return measurements
  },
}

type MakeChunk = (index: number) => unknown

function smallObject(index: number): unknown {
  return { type: 'text-delta', index, text: WORD }
}

function appendContest(
  name: string,
  { chunk, mostNs }: { readonly chunk: MakeChunk; readonly mostNs: number },
): StreamContest {
  const sides: StreamContest['sides'] = {
    ours: (count) => appendOurs(chunk, count),
    bare: (count) => appendBare(chunk, count),
  }
  return { name, ...COURSE, mostNs, sides }
}

async function appendOurs(chunk: MakeChunk, count: number): Promise<Contestant> {
  const bed = await StreamBed.open(WORD)
  const channel = await bed.channel('written')
  return {
    pass: async () => {
      for (let index = 0; index < count; index++) {
        const stored = channel.append(chunk(index))
        if (stored !== undefined) await stored
      }
      await channel.flushed()
    },
    close: () => bed.close(),
  }
}

export function appendBare(chunk: MakeChunk, count: number): Contestant {
  return {
    pass: async () => {
      const kept: unknown[] = []
      for (let index = 0; index < count; index++) {
        kept.push(chunk(index))
        if (index % PENDING === 0) await Promise.resolve()
      }
    },
  }
}

async function readOurs(count: number): Promise<Contestant> {
  const bed = await StreamBed.open(WORD)
  return {
    pass: async () => {
      for (let left = count; left > 0;) left -= await readToTheEnd(bed)
    },
    close: () => bed.close(),
  }
}

/** Reads all chunks. Returns their number. */
async function readToTheEnd(bed: StreamBed): Promise<number> {
  const reader = bed.reader()
  let taken = 0
  for (;;) {
    const chunks = (await reader.take(false))?.chunks ?? []
    if (chunks.length === 0) return taken
    lettersOf(chunks.map(({ value }) => value))
    taken += chunks.length
  }
}

function readBare(count: number): Contestant {
  const kept = Array.from({ length: 10_000 }, () => WORD)
  return {
    pass: () => {
      for (let left = count; left > 0; left -= kept.length) {
        for (let from = 0; from < kept.length; from += BATCH) lettersOf(kept.slice(from, from + BATCH))
      }
    },
  }
}

/** A small amount of work for every chunk, so that it has to be looked at. */
function lettersOf(values: readonly unknown[]): number {
  let letters = 0
  for (const value of values) letters += typeof value === 'string' ? value.length : 0
  return letters
}
