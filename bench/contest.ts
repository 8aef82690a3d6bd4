import type { Series } from './measurement.ts'

/** The work of one side, repeated: before, during and after the measured time. */
export interface Contestant {
  before?(): unknown
  /**
   * May return an `overriddenDuration` in milliseconds, if only parts of it count, or the number of pieces `done`, if a
   * pass takes as many as time allows.
   */
  pass(): unknown
  after?(): unknown
  close?(): Promise<void>
}

/** One job, done by several sides. */
export interface Contest<Name extends string = string> {
  readonly name: string
  /** Pieces of work in one pass. */
  readonly count: number
  readonly rounds: number
  /** Passes of each side that run first and do not count. */
  readonly warmUps: number
  /** No further round begins after this time. Slow sides have fewer repetitions, but at least one. */
  readonly mostMs?: number
  readonly sides: Readonly<Record<Name, (count: number) => Contestant | Promise<Contestant>>>
}

/** The cost of one piece of work in one pass. */
export interface Reading {
  readonly ns: number
  readonly cpuNs: number
}

/** One side, ready to do a pass. */
export interface Side {
  pass(): Promise<Reading>
  close(): Promise<void>
}

/** The progress of a contest, and the processes of its sides. */
export interface ContestPlace {
  readonly rounds: number
  readonly warmUps: number
  readonly mostMs?: number
  readonly open: (name: string) => Promise<Side>
}

/** Lets the sides take turns, one pass each in every round, so that disturbances of the machine affect all of them. */
export async function holdContest<Name extends string>(
  { sides }: Contest<Name>,
  { rounds, warmUps, mostMs = Infinity, open }: ContestPlace,
): Promise<Readonly<Record<Name, Series>>> {
  // `Object.keys` is `string[]` for any record.
  const names = Object.keys(sides) as Name[]
  const entrants = await Promise.all(names.map(async (name) => new Entrant(name, await open(name))))
  const start = performance.now()
  const isTime = (): boolean => performance.now() - start < mostMs
  try {
    for (let round = 0; round < warmUps && isTime(); round++) {
      for (const { side } of entrants) await side.pass()
    }
    for (let round = 0; round < rounds && (round === 0 || isTime()); round++) {
      for (const entrant of entrants) await entrant.takeTurn()
    }
  } finally {
    await Promise.all(entrants.map(({ side }) => side.close()))
  }
  // One reading for each name.
  return Object.fromEntries(entrants.map(({ name, series }) => [name, series])) as Record<Name, Series>
}

class Entrant {
  readonly name: string
  readonly side: Side
  readonly #readings: Reading[] = []

  constructor(name: string, side: Side) {
    this.name = name
    this.side = side
  }

  get series(): Series {
    return { values: this.#readings.map(({ ns }) => ns), cpu: this.#readings.map(({ cpuNs }) => cpuNs) }
  }

  async takeTurn(): Promise<void> {
    this.#readings.push(await this.side.pass())
  }
}
