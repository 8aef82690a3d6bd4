import { createEngine, type Engine, type Task } from 'waitpoint'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import type { Figure, Lab } from '../lab.ts'
import type { Goal, Measurement, Omission } from '../measurement.ts'
import { type BenchPool, PostgresBed, serveWhile, storageOfSchema } from '../postgres-bed.ts'
import { approvalTask, type Elsewhere, machineTimeNs, type WorkerOptions } from '../postgres-worker.ts'
import { serverCpuNs } from '../server-cpu.ts'
import { WaitProfile } from '../wait-profile.ts'

const LAG_MS = 2
const WORK_MS = 250
const WARM_UPS = 3
/** The waits that are shown, the most frequent first. */
const SHOWN = 4
const AT_ONCE = 4
const IDLE = 64
/** Until engines that have nothing to do are at rest. */
const SETTLE_MS = 15_000
/** Several times a third of their lease. */
const REST_MS = 40_000
const LEAST_SHARE = 0.01

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
  readonly rounds: number
  readonly sizes: readonly Size[]
  readonly options: WorkerOptions
}

/**
 * Runs with a wait that one process triggers and completes and others execute: what one worker more is worth, what the
 * statements wait for, and how much CPU the server needs for a run. At last what workers at rest cost the server.
 */
export const workers: Figure = {
  name: 'workers',
  contests: [],
  measure: (lab) =>
    serveWhile(async () => {
      const near = await measureCourse(lab, {
        name: 'run with a wait, 1,000 at once',
        runs: () => lab.count(1_000),
        rounds: lab.rounds(8),
        sizes: [{ workers: 1 }, { workers: 2 }, { workers: 3, times: 0.9 }, { workers: 4 }],
        options: {},
      })
      const wire = await lab.layWire(process.env['WAITPOINT_POSTGRES_URL'] ?? '', LAG_MS)
      const far = await measureCourse(lab, {
        name: `run of ${WORK_MS} ms with a wait, ${AT_ONCE} at once in each worker, ${LAG_MS} ms each way`,
        runs: (count) => lab.count(40) * count,
        rounds: lab.rounds(4),
        sizes: [
          { workers: 1 },
          { workers: 2 },
          { workers: 3, times: 2.5 },
          { workers: 4 },
          { workers: 8, times: 6 },
        ],
        options: { url: wire.url, concurrency: AT_ONCE, workMs: lab.count(WORK_MS) },
      })
      await wire.close()
      return [...near, ...far, await atRest(lab)]
    }),
}

/** All teams are there all the time, so that none is cold, and take turns. */
async function measureCourse(lab: Lab, course: Course): Promise<readonly Measurement[]> {
  const teams: Team[] = []
  try {
    for (const size of course.sizes) teams.push(await Team.open(lab, size, course))
    for (let round = 0; round < WARM_UPS; round++) for (const team of teams) await team.pass()
    for (const team of teams) team.forget()
    for (let round = 0; round < course.rounds; round++) for (const team of teams) await team.pass()
    const [one] = teams
    return teams.flatMap((team) => team.lines(course.name, one))
  } finally {
    for (const team of teams) await team.close()
  }
}

/** One process that triggers and completes, this one, and its workers, on a schema of their own. */
class Team {
  readonly #size: Size
  readonly #count: number
  readonly #bed: PostgresBed
  readonly #approval: Task<string, boolean>
  readonly #web: Engine
  #workers: readonly Elsewhere[] = []
  #tokens: string[] = []
  #allAsked = createDeferred<void>()
  #profile: WaitProfile
  #values: number[] = []
  #cpu: number[] = []

  static async open(lab: Lab, size: Size, course: Course): Promise<Team> {
    const team = new Team(size, course)
    await team.#web.ready()
    const asked = (tokenId: string): void => {
      team.#tokens.push(tokenId)
      if (team.#tokens.length === team.#count) team.#allAsked.resolve()
    }
    const start = (): Promise<Elsewhere> => lab.startWorker(team.#bed.schema, { ...course.options, asked })
    team.#workers = await Promise.all(Array.from({ length: size.workers }, start))
    return team
  }

  private constructor(size: Size, { runs, options }: Course) {
    this.#size = size
    this.#count = runs(size.workers)
    this.#bed = new PostgresBed()
    this.#profile = new WaitProfile(this.#bed.pool)
    this.#approval = approvalTask()
    const storage = storageOfSchema(this.#bed.schema, options.url)
    this.#web = createEngine({ tasks: [this.#approval], storage, execute: false })
  }

  /** All runs wait before the first is completed. */
  async pass(): Promise<void> {
    this.#tokens = []
    this.#allAsked = createDeferred<void>()
    const count = this.#count
    const before = await serverCpuNs(this.#bed.pool)
    this.#profile.start()
    const start = machineTimeNs()
    const trigger = () => this.#web.trigger(this.#approval, 'chapter 1')
    const handles = await Promise.all(Array.from({ length: count }, trigger))
    await this.#allAsked.promise
    await Promise.all(this.#tokens.map((tokenId) => this.#web.wait.completeToken(tokenId, true)))
    await Promise.all(handles.map((handle) => handle.result()))
    this.#values.push((machineTimeNs() - start) / count)
    await this.#profile.stop()
    const after = await serverCpuNs(this.#bed.pool)
    if (before !== undefined && after !== undefined) this.#cpu.push((after - before) / count)
  }

  /** What was measured so far does not count. */
  forget(): void {
    this.#values = []
    this.#cpu = []
    this.#profile = new WaitProfile(this.#bed.pool)
  }

  lines(name: string, one: Team | undefined): readonly Measurement[] {
    const { workers: size, times } = this.#size
    const goal: Goal | undefined = times === undefined ? undefined : { kind: 'ratio', most: 1 / times }
    const line = (what: string, unit: Measurement['unit'], values: readonly number[]): Measurement => ({
      what,
      unit,
      count: this.#count,
      ours: { values },
    })
    const time = line(size === 1 ? `${name}, one worker` : `  ${size} workers`, 'ns', this.#values)
    return [
      { ...time, ...(one !== this && one && { bare: { values: one.#values } }), ...(goal && { goal }) },
      ...(this.#cpu.length > 0 ? [line('    CPU of the server', 'ns', this.#cpu)] : []),
      ...this.#profile.shares
        .slice(0, SHOWN)
        .map(({ what, average }) => line(`    statements under way, ${what}`, 'count', [average])),
    ]
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()))
    await this.#web.close()
    await this.#bed.close()
  }
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
