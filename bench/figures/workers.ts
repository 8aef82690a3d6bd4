import { createEngine } from 'waitpoint'
import { pauseReal } from '../../src/storage/real-timer.ts'
import type { Figure, Lab } from '../lab.ts'
import { type Curve, type Goal, type Measurement, type Omission, spreadOf } from '../measurement.ts'
import { type BenchPool, PostgresBed, serveWhile, storageOfSchema } from '../postgres-bed.ts'
import { approvalTask, machineTimeNs, type WorkerOptions } from '../postgres-worker.ts'
import { serverCpuNs } from '../server-cpu.ts'
import type { SlowWire } from '../slow-wire.ts'
import { inCrowd, inFlow } from '../worker-model.ts'
import { holdTeams, measureSlotMs, warmUp, WorkerTeam } from '../worker-team.ts'

const LAG_MS = 2
const WORK_MS = 250
/** The waits that are shown, the most frequent first. */
const SHOWN = 4
/** Runs that a worker executes at once over the wire. */
const SLOTS = 4
const IDLE = 64
/** Until engines that have nothing to do are at rest. */
const SETTLE_MS = 15_000
/** Several times a third of their lease. */
const REST_MS = 40_000
const LEAST_SHARE = 0.01
const NS_PER_MS = 1e6

/** So many workers share the work. `times`: at least so many times as fast as one. */
interface Size {
  readonly workers: number
  readonly times?: number
}

/** One way in which workers are asked to add up. */
interface Course {
  readonly name: string
  /** Runs of one pass. */
  readonly runs: (workers: number) => number
  /** So many are under way at once. */
  readonly atOnce: (workers: number) => number
  /** Each run that ends is followed by the next one. Otherwise all wait before the first is completed. */
  readonly isFlow?: boolean
  /** Runs of each worker that do not count: until its machine code is made. */
  readonly warmUps: number
  readonly rounds: number
  readonly sizes: readonly Size[]
  readonly options: WorkerOptions
  /** How long a run has its slot without a CPU, besides its work. */
  readonly slotMs: number
  readonly wire?: SlowWire
}

/**
 * Runs with a wait that one process triggers and completes and others execute: what one worker more is worth, what the
 * statements wait for, how much CPU a run needs, and what a queueing network says to that. At last what workers at rest cost
 * the server.
 */
export const workers: Figure = {
  name: 'workers',
  contests: [],
  measure: (lab) =>
    serveWhile(async () => {
      const near = { warmUps: lab.count(5_000), options: {}, slotMs: 0 }
      const crowd = await measureCourse(lab, {
        ...near,
        name: 'run with a wait, 1,000 at once',
        runs: () => lab.count(1_000),
        atOnce: () => lab.count(1_000),
        rounds: lab.rounds(8),
        sizes: [{ workers: 1 }, { workers: 2 }, { workers: 3, times: 0.9 }, { workers: 4 }],
      })
      const flow = await measureCourse(lab, {
        ...near,
        name: 'run with a wait, 250 under way all the time',
        // Long enough that a team is not busy with finding the caches that the others have filled.
        runs: () => lab.count(8_000),
        atOnce: () => lab.count(250),
        isFlow: true,
        rounds: lab.rounds(4),
        sizes: [{ workers: 1 }, { workers: 2 }, { workers: 3, times: 0.9 }, { workers: 4 }],
      })
      const wire = await lab.layWire(process.env['WAITPOINT_POSTGRES_URL'] ?? '', LAG_MS)
      const slotMs = await measureSlotMs(lab, wire)
      const workMs = lab.count(WORK_MS)
      const far = await measureCourse(lab, {
        name: `run of ${WORK_MS} ms with a wait, ${SLOTS} at once in each worker, ${LAG_MS} ms each way`,
        runs: (count) => lab.count(40) * count,
        atOnce: (count) => SLOTS * count,
        warmUps: lab.count(120),
        rounds: lab.rounds(4),
        sizes: [
          { workers: 1 },
          { workers: 2 },
          { workers: 3, times: 2.5 },
          { workers: 4 },
          { workers: 8, times: 6 },
        ],
        options: { url: wire.url, concurrency: SLOTS, workMs },
        slotMs,
        wire,
      })
      await wire.close()
      return [...crowd, ...flow, ...far, await atRest(lab)]
    }),
}

async function measureCourse(lab: Lab, course: Course): Promise<readonly Measurement[]> {
  const teams: WorkerTeam[] = []
  try {
    for (const size of course.sizes) teams.push(await openTeam(lab, size.workers, course))
    for (const team of teams) await warmUp(team, course.warmUps)
    await holdTeams(teams, course.rounds)
    const [one] = teams
    const lines = teams.flatMap((team, place) =>
      linesOf(team, { course, one, times: course.sizes[place]?.times }),
    )
    return lines.map((line, place) => (place === 0 ? { ...line, curve: curveOf(teams, course.name) } : line))
  } finally {
    for (const team of teams) await team.close()
  }
}

function openTeam(lab: Lab, size: number, course: Course): Promise<WorkerTeam> {
  const { runs, atOnce, isFlow, options, wire } = course
  return WorkerTeam.open({
    workers: size,
    count: runs(size),
    start: (schema, given) => lab.startWorker(schema, given),
    options,
    wire: wire?.pid,
    ...(isFlow === true && { atOnce: atOnce(size) }),
  })
}

interface Shown {
  readonly course: Course
  readonly one: WorkerTeam | undefined
  readonly times: number | undefined
}

function linesOf(team: WorkerTeam, { course, one, times }: Shown): readonly Measurement[] {
  const { workers: size, count, passes } = team
  const goal: Goal | undefined = times === undefined ? undefined : { kind: 'ratio', most: 1 / times }
  const line = (what: string, values: readonly number[], unit: Measurement['unit'] = 'ns'): Measurement => ({
    what,
    unit,
    count,
    ours: { values },
  })
  const measured = passes.map(({ ns }) => ns)
  const time = line(size === 1 ? `${course.name}, one worker` : `  ${size} workers`, measured)
  const bare = one !== team && one && { values: one.passes.map(({ ns }) => ns) }
  const seen = passes.flatMap(({ serverNs }) => serverNs ?? [])
  return [
    { ...time, ...(bare && { bare }), ...(goal && { goal }) },
    ...(seen.length > 0 ? [predictionOf(team, course), line('    CPU of the server', seen)] : []),
    line(
      '    CPU of the workers',
      passes.map(({ workersNs }) => workersNs),
    ),
    line(
      '    CPU of the others',
      passes.map(({ triggeringNs, wireNs }) => triggeringNs + wireNs),
    ),
    ...team.shares
      .slice(0, SHOWN)
      .map(({ what, average }) => line(`    statements under way, ${what}`, [average], 'count')),
  ]
}

/** The time of a run with each number of workers. */
function curveOf(teams: readonly WorkerTeam[], what: string): Curve {
  const points = teams.map(({ workers: size, passes }) => ({
    size,
    cost: spreadOf(passes.map(({ ns }) => ns)).median,
  }))
  return { what, unit: 'ns', sizes: 'worker processes', lines: [{ name: 'waitpoint', points }] }
}

/** What the model says to the costs of each pass, beside its time. */
function predictionOf(
  { workers: size, count, passes }: WorkerTeam,
  { atOnce, isFlow, options, slotMs }: Course,
): Measurement {
  const predict = isFlow === true ? inFlow : inCrowd
  const predicted = passes.map(({ serverNs = 0, workersNs, triggeringNs, wireNs, cpus }) => {
    const [serverMs, workersMs] = [serverNs / NS_PER_MS, workersNs / NS_PER_MS]
    const othersMs = (triggeringNs + wireNs) / NS_PER_MS
    const cost = { serverMs, workersMs, othersMs, workMs: options.workMs ?? 0, slotMs }
    return predict(cost, { cpus, runs: atOnce(size) }) * NS_PER_MS
  })
  const bare = { values: passes.map(({ ns }) => ns) }
  return { what: '    predicted, beside measured', unit: 'ns', count, ours: { values: predicted }, bare }
}

/** The share of a CPU that the server needs for workers that have nothing to do, beyond what it needs without them. */
async function atRest(lab: Lab): Promise<Measurement | Omission> {
  const what = `share of a CPU that the server needs for ${IDLE} idle workers`
  const bed = new PostgresBed()
  const isBrief = lab.rounds(IDLE) < IDLE
  const restMs = isBrief ? 1 : REST_MS
  const without = await shareOfCpu(bed.pool, restMs)
  const storages = Array.from({ length: lab.count(IDLE) }, () => storageOfSchema(bed.schema))
  const engines = storages.map((storage) => createEngine({ tasks: [approvalTask()], storage }))
  try {
    for (const engine of engines) await engine.ready()
    if (!isBrief) await pauseReal(SETTLE_MS)
    const share = await shareOfCpu(bed.pool, restMs)
    if (share === undefined || without === undefined)
      return { what, why: 'its processes are not to be seen here' }
    const ours = { values: [Math.max(0, share - without)] }
    return { what, unit: 'count', count: engines.length, ours, goal: { kind: 'value', most: LEAST_SHARE } }
  } finally {
    await Promise.all(engines.map((engine) => engine.close()))
    await bed.close()
  }
}

async function shareOfCpu(pool: BenchPool, ms: number): Promise<number | undefined> {
  const [before, began] = [await serverCpuNs(pool), machineTimeNs()]
  await pauseReal(ms)
  const [after, ended] = [await serverCpuNs(pool), machineTimeNs()]
  return before === undefined || after === undefined ? undefined : (after - before) / (ended - began)
}
