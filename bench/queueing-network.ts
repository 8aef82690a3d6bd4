const MS_PER_SECOND = 1_000

/** A place that each customer of a closed network visits in every cycle. */
export interface Station {
  readonly name: string
  /** The service of one customer in one cycle, in milliseconds, over all its visits. */
  readonly demandMs: number
  /** Servers behind one line. Default: 1. `Infinity`: a delay, at which no customer waits for another. */
  readonly servers?: number
  /** Equal stations of this kind, of which a customer takes one: a share of `demandMs` falls on each. Default: 1. */
  readonly copies?: number
}

/** What becomes of a closed network with so many customers. */
export interface Solution {
  /** Cycles that end in a second, of all customers. */
  readonly perSecond: number
  /** How long one cycle takes, in milliseconds. */
  readonly cycleMs: number
  /** The bounds of the throughput, a second: no station is ever idle; no customer ever waits. */
  readonly bounds: { readonly station: number; readonly customers: number }
  /** The station that is never idle first. */
  readonly busiest: string
  /** The share of its servers that are busy. */
  readonly utilization: number
}

/**
 * The mean values of a closed queueing network, by exact mean value analysis (Reiser and Lavenberg 1980): a customer that
 * arrives at a station finds there what would be there without it. A station with several servers is taken for one that is so
 * many times as fast, behind a delay for the rest of its service (Seidmann 1987): exact with few customers and with many, too
 * slow between. README.md has the formulas.
 */
export function solveNetwork(stations: readonly Station[], customers: number): Solution {
  const lines = stations.map((station) => lineOf(station))
  const delayMs = lines.reduce((sum, line) => sum + line.delayMs, 0)
  /** Customers at one of the equal stations, the one that is served included. */
  let lengths = lines.map(() => 0)
  let cycleMs = delayMs
  let perMs = 0
  for (let present = 1; present <= customers; present++) {
    // At all copies together: each is visited by a part of the customers.
    const stays = lines.map(({ serviceMs }, at) => serviceMs * (1 + (lengths[at] ?? 0)))
    cycleMs = stays.reduce((sum, stay) => sum + stay, delayMs)
    perMs = present / cycleMs
    lengths = lines.map(({ copies }, at) => (perMs * (stays[at] ?? 0)) / copies)
  }
  const [busiest = NONE] = [...lines].sort(
    (one, other) => other.serviceMs / other.copies - one.serviceMs / one.copies,
  )
  const bottleneckMs = busiest.serviceMs / busiest.copies
  const aloneMs = lines.reduce((sum, { serviceMs }) => sum + serviceMs, delayMs)
  return {
    perSecond: perMs * MS_PER_SECOND,
    cycleMs,
    bounds: { station: MS_PER_SECOND / bottleneckMs, customers: (customers * MS_PER_SECOND) / aloneMs },
    busiest: busiest.name,
    utilization: perMs * bottleneckMs,
  }
}

/** A line with one server, and a delay. */
interface Line {
  readonly name: string
  readonly serviceMs: number
  readonly delayMs: number
  readonly copies: number
}

const NONE: Line = { name: 'none', serviceMs: 0, delayMs: 0, copies: 1 }

function lineOf({ name, demandMs, servers = 1, copies = 1 }: Station): Line {
  const serviceMs = demandMs / servers
  return { name, serviceMs, delayMs: demandMs - serviceMs, copies }
}
