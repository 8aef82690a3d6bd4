import { cpus } from 'node:os'
import { createEngine, type Engine, type RunHandle, type Task } from 'waitpoint'
import { createDeferred } from '../src/primitives/deferred.ts'
import type { Lab } from './lab.ts'
import { spreadOf } from './measurement.ts'
import { PostgresBed, storageOfSchema } from './postgres-bed.ts'
import { approvalTask, type Elsewhere, machineTimeNs, type WorkerOptions } from './postgres-worker.ts'
import { processCpuNs } from './process-cpu.ts'
import { serverCpuNs } from './server-cpu.ts'
import type { SlowWire } from './slow-wire.ts'
import { WaitProfile, type WaitShare } from './wait-profile.ts'

/** Which work a team does. */
export interface TeamOptions {
  readonly workers: number
  /** Runs of one pass. */
  readonly count: number
  /** Starts one of its workers. */
  readonly start: (schema: string, options: WorkerOptions) => Promise<Elsewhere>
  readonly options: WorkerOptions
  /** So many runs are under way all the time, and each token is completed at once. Absent: all wait before the first is completed. */
  readonly atOnce?: number
  /** The process of the wire, if there is one. */
  readonly wire?: number | undefined
}

/** One pass, in nanoseconds for a run: its time, and the CPU times of all processes, where they can be seen. */
export interface TeamPass {
  readonly ns: number
  readonly serverNs: number | undefined
  /** Of all workers together, unless they are in this process. */
  readonly workersNs: number
  /** Of this process, which triggers and completes. */
  readonly triggeringNs: number
  readonly wireNs: number
  /** CPUs that other programs have left to all of these. */
  readonly cpus: number
}

/** One process that triggers and completes, this one, and its workers, on a schema of their own. */
export class WorkerTeam {
  readonly workers: number
  readonly count: number
  readonly bed: PostgresBed
  readonly #approval: Task<string, boolean>
  readonly #web: Engine
  readonly #wire: number | undefined
  readonly #atOnce: number | undefined
  #members: readonly Elsewhere[] = []
  #tokens: string[] = []
  #allAsked = createDeferred<void>()
  #profile: WaitProfile
  #passes: TeamPass[] = []

  static async open({ start, ...others }: TeamOptions): Promise<WorkerTeam> {
    const team = new WorkerTeam(others)
    await team.#web.ready()
    const asked = (tokenId: string): void => {
      team.#tokens.push(tokenId)
      if (others.atOnce !== undefined) void team.#web.wait.completeToken(tokenId, true)
      else if (team.#tokens.length === team.count) team.#allAsked.resolve()
    }
    const startOne = (): Promise<Elsewhere> => start(team.bed.schema, { ...others.options, asked })
    team.#members = await Promise.all(Array.from({ length: others.workers }, startOne))
    return team
  }

  private constructor({ workers, count, options, wire, atOnce }: Omit<TeamOptions, 'start'>) {
    this.workers = workers
    this.count = count
    this.#wire = wire
    this.#atOnce = atOnce
    this.bed = new PostgresBed()
    this.#profile = new WaitProfile(this.bed.pool)
    this.#approval = approvalTask()
    const storage = storageOfSchema(this.bed.schema, options.url)
    this.#web = createEngine({ tasks: [this.#approval], storage, execute: false })
  }

  /** Those that count so far. */
  get passes(): readonly TeamPass[] {
    return this.#passes
  }

  /** What the statements under way were found at, the most frequent first. */
  get shares(): readonly WaitShare[] {
    return this.#profile.shares
  }

  async pass(): Promise<void> {
    this.#tokens = []
    this.#allAsked = createDeferred<void>()
    const { count } = this
    const before = await this.#look()
    this.#profile.start()
    const start = machineTimeNs()
    await (this.#atOnce === undefined ? this.#crowd() : this.#flow(this.#atOnce))
    const ns = (machineTimeNs() - start) / count
    await this.#profile.stop()
    this.#passes.push(passOf({ ns, count, before, after: await this.#look() }))
  }

  /** All runs wait before the first is completed. */
  async #crowd(): Promise<void> {
    const handles = await Promise.all(Array.from({ length: this.count }, () => this.#trigger()))
    await this.#allAsked.promise
    await Promise.all(this.#tokens.map((tokenId) => this.#web.wait.completeToken(tokenId, true)))
    await Promise.all(handles.map((handle) => handle.result()))
  }

  /** A run that ends is followed by the next one. */
  async #flow(atOnce: number): Promise<void> {
    let left = this.count
    const followOn = async (): Promise<void> => {
      while ((left -= 1) >= 0) await (await this.#trigger()).result()
    }
    await Promise.all(Array.from({ length: atOnce }, followOn))
  }

  #trigger(): Promise<RunHandle<boolean>> {
    return this.#web.trigger(this.#approval, 'chapter 1')
  }

  async #look(): Promise<Look> {
    const own = process.cpuUsage()
    return {
      serverNs: await serverCpuNs(this.bed.pool),
      workersNs: this.#members.reduce((sum, { pid }) => sum + cpuNs(pid), 0),
      triggeringNs: (own.user + own.system) * NS_PER_US,
      wireNs: cpuNs(this.#wire),
      idleNs: cpus().reduce((sum, { times }) => sum + times.idle, 0) * NS_PER_MS,
      machineNs: machineTimeNs(),
    }
  }

  /** What was measured so far does not count. */
  forget(): void {
    this.#passes = []
    this.#profile = new WaitProfile(this.bed.pool)
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((worker) => worker.close()))
    await this.#web.close()
    await this.bed.close()
  }
}

/** All CPU times so far, and the time at which they were read. */
interface Look extends Omit<TeamPass, 'ns' | 'cpus'> {
  readonly idleNs: number
  readonly machineNs: number
}

const NS_PER_US = 1e3
const NS_PER_MS = 1e6

interface Looks {
  readonly ns: number
  readonly count: number
  readonly before: Look
  readonly after: Look
}

function passOf({ ns, count, before, after }: Looks): TeamPass {
  const serverNs = after.serverNs === undefined ? undefined : after.serverNs - (before.serverNs ?? 0)
  const workersNs = after.workersNs - before.workersNs
  const triggeringNs = after.triggeringNs - before.triggeringNs
  const wireNs = after.wireNs - before.wireNs
  const freeNs = (serverNs ?? 0) + workersNs + triggeringNs + wireNs + after.idleNs - before.idleNs
  return {
    ns,
    serverNs: serverNs === undefined ? undefined : serverNs / count,
    workersNs: workersNs / count,
    triggeringNs: triggeringNs / count,
    wireNs: wireNs / count,
    cpus: Math.min(cpus().length, freeNs / (after.machineNs - before.machineNs)),
  }
}

function cpuNs(pid: number | undefined): number {
  return pid === undefined ? 0 : (processCpuNs(pid) ?? 0)
}

/** So many runs of each worker, until its machine code is made. They do not count. */
export async function warmUp(team: WorkerTeam, runs: number): Promise<void> {
  for (let done = 0; done < runs; done += team.count / team.workers) await team.pass()
  team.forget()
}

/** All teams are there all the time, so that none is cold, and take turns. */
export async function holdTeams(teams: readonly WorkerTeam[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) for (const team of teams) await team.pass()
}

/** How long a run without work of its own has its slot over a wire, in milliseconds, less the time in which it has a CPU. */
export async function measureSlotMs(lab: Lab, wire: SlowWire): Promise<number> {
  const team = await WorkerTeam.open({
    workers: 1,
    count: lab.count(40),
    start: (schema, options) => lab.startWorker(schema, options),
    options: { url: wire.url, concurrency: 1 },
    wire: wire.pid,
  })
  try {
    await warmUp(team, lab.count(200))
    await holdTeams([team], lab.rounds(8))
    const waits = team.passes.map(({ ns, serverNs = 0, workersNs }) => ns - serverNs - workersNs)
    return Math.max(0, spreadOf(waits).median / NS_PER_MS)
  } finally {
    await team.close()
  }
}
