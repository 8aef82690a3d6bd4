import { solveNetwork, type Solution, type Station } from './queueing-network.ts'

const MS_PER_SECOND = 1_000

/** What one run with a wait needs, in milliseconds. */
export interface RunCost {
  /** CPU of the server, with all its processes. */
  readonly serverMs: number
  /** CPU of the workers, all together. */
  readonly workersMs: number
  /** CPU of whatever else is on the machine: the process that triggers and completes, the wire. */
  readonly othersMs: number
  /** How long it executes without a CPU before it waits. */
  readonly workMs: number
  /** How long it has its slot besides, without a CPU: the way to the server and back. */
  readonly slotMs: number
}

interface Machine {
  readonly cpus: number
  /** Runs that are under way at once. */
  readonly runs: number
}

/** Milliseconds a run, of runs that follow each other on one machine with the server, the workers and all else. */
export function inFlow(cost: RunCost, { cpus, runs }: Machine): number {
  const demandMs = cost.serverMs + cost.workersMs + cost.othersMs
  const waitMs = cost.workMs + cost.slotMs
  return (
    MS_PER_SECOND /
    solveNetwork([{ name: 'CPUs', demandMs, servers: cpus }, waiting({ waitMs })], runs).perSecond
  )
}

/** Milliseconds a run, if all runs wait before the first is completed: its work comes first, and half of all else. */
export function inCrowd(cost: RunCost, machine: Machine): number {
  const { serverMs, workersMs, othersMs, slotMs } = cost
  const half = {
    serverMs: serverMs / 2,
    workersMs: workersMs / 2,
    othersMs: othersMs / 2,
    slotMs: slotMs / 2,
  }
  return inFlow({ ...half, workMs: cost.workMs }, machine) + inFlow({ ...half, workMs: 0 }, machine)
}

/** A cost that grows by so much with each worker. */
export interface Growth {
  readonly baseMs: number
  readonly perWorkerMs: number
}

/** What one run needs in a fleet. */
export interface FleetCost {
  readonly server: Growth
  /** CPU of all workers together: each hears of each run. */
  readonly workers: Growth
  /** How long it has the one lock of the server that is taken by each message. */
  readonly lockMs: number
  readonly waitMs: number
}

export interface Fleet {
  readonly workers: number
  /** Runs that each worker executes at once. */
  readonly slots: number
  readonly serverCpus: number
}

/** The names of what a fleet can be limited by. */
const SERVER = 'CPUs of the server'
const WORKERS = 'CPUs of the workers'
const LOCK = 'lock of NOTIFY'

/** A fleet with all its slots taken, each worker on a machine of its own with one CPU. */
export function inFleet(cost: FleetCost, { workers, slots, serverCpus }: Fleet): Solution {
  const stations: readonly Station[] = [
    { name: SERVER, demandMs: at(cost.server, workers), servers: serverCpus },
    { name: WORKERS, demandMs: at(cost.workers, workers), copies: workers },
    { name: LOCK, demandMs: cost.lockMs },
    waiting(cost),
  ]
  return solveNetwork(stations, workers * slots)
}

/** The least-squares line through what was measured with so many workers; never one that falls. */
export function growthOf(points: readonly { readonly workers: number; readonly ms: number }[]): Growth {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const center = mean(points.map(({ workers }) => workers))
  const height = mean(points.map(({ ms }) => ms))
  const spread = mean(points.map(({ workers }) => (workers - center) ** 2))
  const together = mean(points.map(({ workers, ms }) => (workers - center) * (ms - height)))
  const perWorkerMs = spread === 0 ? 0 : Math.max(0, together / spread)
  return { baseMs: height - perWorkerMs * center, perWorkerMs }
}

function at({ baseMs, perWorkerMs }: Growth, workers: number): number {
  return Math.max(0, baseMs + perWorkerMs * workers)
}

function waiting({ waitMs }: { readonly waitMs: number }): Station {
  return { name: 'waiting', demandMs: waitMs, servers: Infinity }
}
