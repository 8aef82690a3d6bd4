import type { Figure, Lab } from '../lab.ts'
import type { Measurement, Series } from '../measurement.ts'
import type { ParkedMemory, ParkSide } from '../park.ts'

const MOST_HEAP_BYTES = 3e9

/** Parked runs, each with a deadline of its own: what they hold in memory, and how many timers that takes. */
export const parked: Figure = {
  name: 'parked',
  contests: [],
  async measure(lab) {
    const few = await park(lab, { count: lab.count(10_000), rounds: 3 })
    const more = await park(lab, { count: lab.count(100_000), rounds: 2 })
    const million = await park(lab, { count: lab.count(1_000_000), rounds: 1 })
    const { count, ours } = million
    return [
      ...[few, more, million].map((crowd) => heapOfOne(crowd)),
      {
        what: 'heap of all of them',
        unit: 'bytes',
        count,
        ...compare(million, ({ heapBytes }) => heapBytes),
        goal: { kind: 'value', most: MOST_HEAP_BYTES },
      },
      {
        what: 'resident memory of all of them',
        unit: 'bytes',
        count,
        ...compare(million, ({ residentBytes }) => residentBytes),
      },
      {
        what: 'timers of all their deadlines',
        unit: 'count',
        count,
        ours: { values: ours.map(({ timers }) => timers) },
        goal: { kind: 'value', most: 1 },
      },
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
  { count, rounds }: { readonly count: number; readonly rounds: number },
): Promise<Crowd> {
  const crowd: Readonly<Record<ParkSide, ParkedMemory[]>> = { ours: [], bare: [] }
  for (let round = lab.rounds(rounds); round > 0; round--) {
    crowd.ours.push(await lab.measurePark('ours', count))
    crowd.bare.push(await lab.measurePark('bare', count))
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

function compare(
  { ours, bare }: Crowd,
  value: (memory: ParkedMemory) => number,
): Readonly<Record<ParkSide, Series>> {
  return { ours: { values: ours.map(value) }, bare: { values: bare.map(value) } }
}
