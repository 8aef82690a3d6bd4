import type { Engine } from 'waitpoint'
import { channelOf } from '../../src/storage/postgres/messages.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import type { Figure, Lab } from '../lab.ts'
import { type Measurement, spreadOf } from '../measurement.ts'
import { PostgresBed, serveWhile } from '../postgres-bed.ts'
import { openWorker } from '../postgres-worker.ts'
import { serverCpuNs } from '../server-cpu.ts'
import { type FleetCost, type Growth, growthOf, inFleet } from '../worker-model.ts'
import { holdTeams, measureSlotMs, warmUp, WorkerTeam } from '../worker-team.ts'

const LAG_MS = 2
/** Runs that each worker executes at once, and how long each executes before it waits. */
const SLOTS = 4
const WORK_MS = 250
/** The fleets whose costs are measured. A server of the tests has 200 connections. */
const MEASURED = [1, 4, 16, 40]
const CONNECTIONS = 2
const LISTENERS = 40
/** One worker's work. That of more workers is so many times as long: the server has as many runs a second. */
const EASE_MS = 60
const RUNS = 240
/** In two turns of all slots, at least. */
const TURNS = 2
const MESSAGES = 400
/** So far apart that each is heard by itself. */
const APART_MS = 4
/** The last one has as many slots as the one before, in fewer processes. */
const FORECAST = [
  { workers: 16, slots: SLOTS },
  { workers: 64, slots: SLOTS },
  { workers: 256, slots: SLOTS },
  { workers: 64, slots: 4 * SLOTS },
]
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
 * Where a fleet of workers ends: what a run costs the server and the processes in fleets of 1 to 40 workers, what a message
 * costs the server, and what a queueing network makes of that for fleets of 16 to 256.
 */
export const fleets: Figure = {
  name: 'fleets',
  contests: [],
  measure: (lab) =>
    serveWhile(async () => {
      const wire = await lab.layWire(process.env['WAITPOINT_POSTGRES_URL'] ?? '', LAG_MS)
      const slotMs = await measureSlotMs(lab, wire)
      const message = await measureMessage(lab)
      const atEase = await measureFleets(lab, { easeMs: EASE_MS, url: wire.url })
      const crowded = await measureFleets(lab, { easeMs: 0, url: wire.url })
      await wire.close()
      const line = lineOf(lab.count(RUNS))
      if (message === undefined || atEase === undefined || crowded === undefined)
        return [{ what: 'CPU of the server', why: 'its processes are not to be seen here' }]
      const costs = { slotMs, message }
      return [
        line(`time of a slot besides its work, ${LAG_MS} ms each way`, slotMs * NS_PER_MS),
        line('message: CPU of the server', message.tellNs),
        line('  for each process that listens', message.hearNs),
        ...pointsOf('run in a fleet at ease', atEase, { line, message }),
        ...pointsOf('run in a fleet without a pause', crowded, { line, message }),
        ...forecasts(costOf(atEase, costs), costOf(crowded, costs)),
      ]
    }),
}

type Line = (what: string, value: number, unit?: Measurement['unit']) => Measurement

function lineOf(count: number): Line {
  return (what, value, unit = 'ns') => ({ what, unit, count, ours: { values: [value] } })
}

/** One fleet after the other, each in this process. `undefined` if the CPU of the server cannot be seen. */
async function measureFleets(
  lab: Lab,
  { easeMs, url }: { readonly easeMs: number; readonly url: string },
): Promise<readonly FleetPoint[] | undefined> {
  const points: FleetPoint[] = []
  for (const size of MEASURED.map((full) => Math.min(full, lab.count(full)))) {
    const team = await WorkerTeam.open({
      workers: size,
      count: Math.max(lab.count(RUNS), TURNS * SLOTS * size),
      start: openWorker,
      options: { concurrency: SLOTS, workMs: easeMs * size, connections: CONNECTIONS, url },
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

/** CPU of the server for a message, in nanoseconds. */
interface MessageCost {
  /** For the statement. It holds the lock that all messages take for a part of that. */
  readonly tellNs: number
  /** For each process that listens. */
  readonly hearNs: number
}

/** `undefined` if the CPU of the server cannot be seen. */
async function measureMessage(lab: Lab): Promise<MessageCost | undefined> {
  const bed = new PostgresBed()
  const count = lab.count(MESSAGES)
  const tell = async (): Promise<number | undefined> => {
    const before = await serverCpuNs(bed.pool)
    for (let told = 0; told < count; told++) {
      const text = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`
      await bed.pool.query(text, [channelOf(bed.schema), JSON.stringify([String(told)])])
      await pauseReal(APART_MS)
    }
    const after = await serverCpuNs(bed.pool)
    return before === undefined || after === undefined ? undefined : (after - before) / count
  }
  const listeners: Engine[] = []
  try {
    const alone = await tell()
    const most = Math.min(LISTENERS, lab.count(LISTENERS))
    while (listeners.length < most) listeners.push(await openWorker(bed.schema))
    const heard = await tell()
    if (alone === undefined || heard === undefined) return undefined
    return { tellNs: alone, hearNs: Math.max(0, (heard - alone) / most) }
  } finally {
    await Promise.all(listeners.map((engine) => engine.close()))
    await bed.close()
  }
}

interface Costs {
  readonly slotMs: number
  readonly message: MessageCost
}

function costOf(points: readonly FleetPoint[], { slotMs, message }: Costs): FleetCost {
  const messages = Math.max(...points.map((point) => point.messages))
  return {
    server: serverGrowth(points),
    workers: growthOf(points.map(({ workers, processesNs }) => ({ workers, ms: processesNs / NS_PER_MS }))),
    lockMs: (messages * message.tellNs) / NS_PER_MS,
    waitMs: WORK_MS + slotMs,
  }
}

function serverGrowth(points: readonly FleetPoint[]): Growth {
  return growthOf(points.map(({ workers, serverNs }) => ({ workers, ms: serverNs / NS_PER_MS })))
}

/** At last how the server's part grows, beside what messages alone would let it grow. */
function pointsOf(
  name: string,
  points: readonly FleetPoint[],
  { line, message }: { readonly line: Line; readonly message: MessageCost },
): readonly Measurement[] {
  const messages = points.reduce((sum, point) => sum + point.messages, 0) / points.length
  return [
    ...points.flatMap((point) => [
      line(`${name}, ${point.workers} workers: CPU of the server`, point.serverNs),
      line('  CPU of the processes', point.processesNs),
      line('  messages', point.messages, 'count'),
    ]),
    {
      ...line(
        '  more CPU of the server for each worker, beside that of messages',
        serverGrowth(points).perWorkerMs * NS_PER_MS,
      ),
      bare: { values: [messages * message.hearNs] },
    },
  ]
}

/** Runs a second, of fleets with a load like that of `workers` over the wire: at ease, beside those without a pause. */
function forecasts(atEase: FleetCost, crowded: FleetCost): readonly Measurement[] {
  return SERVERS.flatMap((serverCpus) =>
    FORECAST.map(({ workers, slots }): Measurement => {
      const fleet = { workers, slots, serverCpus }
      const ours = inFleet(atEase, fleet)
      const limit = ours.utilization < FULL ? 'slots' : ours.busiest
      return {
        what: `runs a second, ${workers} workers of ${slots} slots, server of ${serverCpus} CPUs: limited by ${limit}`,
        unit: 'count',
        count: workers,
        ours: { values: [ours.perSecond] },
        bare: { values: [inFleet(crowded, fleet).perSecond] },
      }
    }),
  )
}
