import { channelOf } from '../../src/storage/postgres/messages.ts'
import type { Figure, Lab } from '../lab.ts'
import { type Measurement, type Omission, spreadOf } from '../measurement.ts'
import { PostgresBed, serveWhile } from '../postgres-bed.ts'
import { machineTimeNs, openWorker } from '../postgres-worker.ts'
import { type FleetCost, growthOf, inFleet } from '../worker-model.ts'
import { holdTeams, measureSlotMs, warmUp, WorkerTeam } from '../worker-team.ts'

const LAG_MS = 2
/** Runs that each worker executes at once, and how long each executes before it waits. */
const SLOTS = 4
const WORK_MS = 250
/** The fleets whose costs are measured. A server of the tests has 200 connections. */
const MEASURED = [1, 4, 16, 40]
const CONNECTIONS = 2
/** One worker's work. That of more workers is so many times as long: the server has as many runs a second. */
const EASE_MS = 60
const RUNS = 240
/** In two turns of all slots, at least. */
const TURNS = 2
const MESSAGES = 1_000
const FORECAST = [16, 64, 256]
const SERVERS = [2, 8, 32]
/** A station that is busy for so much of its time is the limit. */
const FULL = 0.9
const NS_PER_MS = 1e6

/** What a run costs in a fleet of so many workers. */
interface FleetPoint {
  readonly workers: number
  readonly serverNs: number
  /** Of all processes but the server. */
  readonly processesNs: number
  readonly messages: number
}

/**
 * Where a fleet of workers ends: what a run costs the server and the processes in fleets of 1 to 40 workers, how long a message
 * holds the lock that all messages take, and what a queueing network makes of that for fleets of 16 to 256.
 */
export const fleets: Figure = {
  name: 'fleets',
  contests: [],
  measure: (lab) =>
    serveWhile(async () => {
      const wire = await lab.layWire(process.env['WAITPOINT_POSTGRES_URL'] ?? '', LAG_MS)
      const slotMs = await measureSlotMs(lab, wire)
      await wire.close()
      const lockNs = await measureMessage(lab.count(MESSAGES))
      const atEase = await measureFleets(lab, EASE_MS)
      const crowded = await measureFleets(lab, 0)
      const line = lineOf(lab.count(RUNS))
      const head = [
        line(`time of a slot besides its work, ${LAG_MS} ms each way`, slotMs * NS_PER_MS),
        line('lock of all messages, for one message', lockNs),
      ]
      if (atEase === undefined || crowded === undefined)
        return [...head, { what: 'CPU of the server', why: 'its processes are not to be seen here' }]
      const costs = { slotMs, lockNs }
      return [
        ...head,
        ...pointsOf('run in a fleet at ease', atEase, line),
        ...pointsOf('run in a fleet without a pause', crowded, line),
        ...forecasts(costOf(atEase, costs), costOf(crowded, costs)),
      ]
    }),
}

type Line = (what: string, value: number, unit?: Measurement['unit']) => Measurement

function lineOf(count: number): Line {
  return (what, value, unit = 'ns') => ({ what, unit, count, ours: { values: [value] } })
}

/** One fleet after the other, each in this process. `undefined` if the CPU of the server cannot be seen. */
async function measureFleets(lab: Lab, easeMs: number): Promise<readonly FleetPoint[] | undefined> {
  const points: FleetPoint[] = []
  for (const size of MEASURED.map((full) => Math.min(full, lab.count(full)))) {
    const team = await WorkerTeam.open({
      workers: size,
      count: Math.max(lab.count(RUNS), TURNS * SLOTS * size),
      start: openWorker,
      options: { concurrency: SLOTS, workMs: easeMs * size, connections: CONNECTIONS },
    })
    try {
      await warmUp(team, 1)
      const messages = await countMessages(team, () => holdTeams([team], lab.rounds(3)))
      const { passes } = team
      const seen = passes.flatMap(({ serverNs }) => serverNs ?? [])
      if (seen.length === 0) return undefined
      points.push({
        workers: size,
        serverNs: spreadOf(seen).median,
        processesNs: spreadOf(passes.map(({ triggeringNs }) => triggeringNs)).median,
        messages: messages / (team.count * passes.length),
      })
    } finally {
      await team.close()
    }
  }
  return points
}

async function countMessages({ bed }: WorkerTeam, work: () => Promise<void>): Promise<number> {
  let messages = 0
  const client = await bed.pool.connect()
  client.on('notification', () => (messages += 1))
  await client.query(`LISTEN "${channelOf(bed.schema)}"`)
  await work()
  client.release(true)
  return messages
}

/** How much longer a statement takes that notifies, in nanoseconds: most of it holds the lock, up to the end of the commit. */
async function measureMessage(count: number): Promise<number> {
  const bed = new PostgresBed()
  const ask = async (call: string): Promise<number> => {
    const began = machineTimeNs()
    const text = `SELECT set_config('synchronous_commit', 'off', true), ${call}`
    await bed.pool.query(text, [bed.schema, 'a message'])
    return machineTimeNs() - began
  }
  const told: number[] = []
  const untold: number[] = []
  try {
    for (let asked = 0; asked < count; asked++) {
      told.push(await ask('pg_notify($1, $2)'))
      untold.push(await ask('$1::text, $2::text'))
    }
    return Math.max(0, spreadOf(told).median - spreadOf(untold).median)
  } finally {
    await bed.close()
  }
}

function costOf(
  points: readonly FleetPoint[],
  { slotMs, lockNs }: { readonly slotMs: number; readonly lockNs: number },
): FleetCost {
  const growth = (of: (point: FleetPoint) => number) =>
    growthOf(points.map((point) => ({ workers: point.workers, ms: of(point) / NS_PER_MS })))
  const messages = Math.max(...points.map((point) => point.messages))
  return {
    server: growth(({ serverNs }) => serverNs),
    workers: growth(({ processesNs }) => processesNs),
    lockMs: (messages * lockNs) / NS_PER_MS,
    waitMs: WORK_MS + slotMs,
  }
}

function pointsOf(name: string, points: readonly FleetPoint[], line: Line): readonly Measurement[] {
  return points.flatMap(({ workers, serverNs, processesNs, messages }) => [
    line(`${name}, ${workers} workers: CPU of the server`, serverNs),
    line('  CPU of the processes', processesNs),
    line('  messages', messages, 'count'),
  ])
}

/** Runs a second, of fleets with a load like that of `workers` over the wire: at ease, beside those without a pause. */
function forecasts(atEase: FleetCost, crowded: FleetCost): readonly (Measurement | Omission)[] {
  return SERVERS.flatMap((serverCpus) =>
    FORECAST.map((workers): Measurement => {
      const fleet = { workers, slots: SLOTS, serverCpus }
      const ours = inFleet(atEase, fleet)
      const bare = inFleet(crowded, fleet)
      const limit = ours.utilization < FULL ? 'slots' : ours.busiest
      return {
        what: `runs a second, ${workers} workers, server of ${serverCpus} CPUs: limited by ${limit}`,
        unit: 'count',
        count: workers,
        ours: { values: [ours.perSecond] },
        bare: { values: [bare.perSecond] },
      }
    }),
  )
}
