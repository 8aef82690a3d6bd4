import type { Figure, Lab } from '../lab.ts'
import type { Goal, Measurement, Series } from '../measurement.ts'
import type { ParkedMemory } from '../park.ts'

const MOST_HEAP_BYTES = 3e9

/** Parked runs with a deadline each: their memory, and their number of timers. */
export const parked: Figure = {
  name: 'parked',
  contests: [],
  async measure(lab) {
    const few = await park(lab, { count: lab.count(10_000), rounds: 3 })
    const more = await park(lab, { count: lab.count(100_000), rounds: 2 })
    const million = await park(lab, { count: lab.count(1_000_000), rounds: 1 })
    const waits = await park(lab, { count: lab.count(1_000_000), rounds: 1, isWaits: true })
    return [
      ...[few, more, million].map((crowd) => heapOfOne(crowd)),
      ...allOfThem(million, 'parked runs'),
      ...allOfThem(waits, 'parked waits of 1,000 runs', { kind: 'value', most: MOST_HEAP_BYTES }),
    ]
  },
}

interface Crowd {
  readonly count: number
  readonly ours: readonly ParkedMemory[]
  readonly bare: readonly ParkedMemory[]
}

async function park(
  lab: Lab,
  { count, rounds, isWaits = false }: { count: number; rounds: number; isWaits?: boolean },
): Promise<Crowd> {
  const crowd: Readonly<Record<'ours' | 'bare', ParkedMemory[]>> = { ours: [], bare: [] }
  for (let round = lab.rounds(rounds); round > 0; round--) {
    crowd.ours.push(await lab.measurePark(isWaits ? 'our waits' : 'ours', count))
    crowd.bare.push(await lab.measurePark(isWaits ? 'bare waits' : 'bare', count))
  }
  return { count, ...crowd }
}

function heapOfOne(crowd: Crowd): Measurement {
  const { count } = crowd
  return {
    what: `heap of a run among ${count.toLocaleString('en-US')}`,
    unit: 'bytes',
    count,
    ...compare(crowd, ({ heapBytes }) => heapBytes / count),
  }
}

function allOfThem(crowd: Crowd, noun: string, goal?: Goal): readonly Measurement[] {
  const { count, ours } = crowd
  const what = `${count.toLocaleString('en-US')} ${noun}`
  const heap = { unit: 'bytes', count, ...compare(crowd, ({ heapBytes }) => heapBytes) } as const
  return [
    { what: `${what}: heap`, ...heap, ...(goal === undefined ? {} : { goal }) },
    {
      what: '  resident memory',
      unit: 'bytes',
      count,
      ...compare(crowd, ({ residentBytes }) => residentBytes),
    },
    {
      what: '  timers of all their deadlines',
      unit: 'count',
      count,
      ours: { values: ours.map(({ timers }) => timers) },
      goal: { kind: 'value', most: 1 },
    },
  ]
}

function compare(
  { ours, bare }: Crowd,
  value: (memory: ParkedMemory) => number,
): Readonly<Record<'ours' | 'bare', Series>> {
  return { ours: { values: ours.map(value) }, bare: { values: bare.map(value) } }
}
