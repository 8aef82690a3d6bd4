import { createEngine, type Engine, type ListRunsParams, type Storage, task } from 'waitpoint'
import { inCrowds } from '../approval-loops.ts'
import { benchRuns } from '../bench-runs.ts'
import { EndedRuns, TASK_ID } from '../ended-runs.ts'
import { EngineApprovals } from '../engine-approvals.ts'
import type { Figure, Lab } from '../lab.ts'
import { type Measurement, spreadOf } from '../measurement.ts'
import { serveWhile } from '../postgres-bed.ts'
import { serverCpuNs } from '../server-cpu.ts'

const FEW = 10_000
const MANY = 1_000_000
const CALLS = 50
const ROUNDS = 10
const WARM_UPS = 10
const RUNS = 1_000
const PAGE = 25
/** An engine prunes so many records at a time. */
const BATCH = 1_000
/** A part of the ended runs, after which the server vacuums. */
const FIFTIETH = 50
const MOST_RATIO = 1.3
const NS_PER_MS = 1e6
const DAY_MS = 86_400_000
/** The middle of the time over which the ended runs are spread. */
const AGE_DAYS = 14
const LEASE_MS = 3_600_000

/** What engines ask of a schema with many ended runs, beside one with few. */
export const history: Figure = {
  name: 'history',
  contests: [],
  measure: (lab) => serveWhile(() => measureHistory(lab)),
}

async function measureHistory(lab: Lab): Promise<readonly Measurement[]> {
  const many = lab.count(benchRuns(MANY))
  const few = Math.min(many, FEW)
  const sides = [await OldSchema.open(many), await OldSchema.open(few)] as const
  try {
    const lines: Measurement[] = []
    for (const step of STEPS) lines.push(await measureStep(lab, step, sides))
    const [ours, bare] = [await sides[0].runs.bytes(), await sides[1].runs.bytes()]
    lines.push({
      what: 'tables and indexes, for each ended run',
      unit: 'bytes',
      count: many,
      ours: { values: [ours / many] },
      bare: { values: [bare / few] },
    })
    return [...lines, ...(await measurePruning(lab, sides))]
  } finally {
    for (const side of sides) await side.close()
  }
}

type Sides = readonly [many: OldSchema, few: OldSchema]

/** Calls on both schemas in turns: the median of the calls of each turn. */
async function measureStep(lab: Lab, step: Step, sides: Sides): Promise<Measurement> {
  const calls = step.calls ?? lab.count(CALLS)
  const values: readonly [number[], number[]] = [[], []]
  for (const side of sides) await timesOf(step, side, Math.min(calls, WARM_UPS))
  for (let round = lab.rounds(ROUNDS); round > 0; round--)
    for (const at of [0, 1] as const)
      values[at].push(spreadOf(await timesOf(step, sides[at], calls)).median * NS_PER_MS)
  return {
    what: `${step.what}, of ${sides[0].runs.count.toLocaleString('en-US')} ended runs`,
    unit: 'ns',
    count: calls,
    ours: { values: values[0] },
    bare: { values: values[1] },
    goal: { kind: 'ratio', most: MOST_RATIO },
  }
}

async function timesOf(step: Step, side: OldSchema, calls: number): Promise<readonly number[]> {
  const times: number[] = []
  for (let call = 0; call < calls; call++) {
    const prepared = await step.prepare?.(side)
    const began = performance.now()
    await step.call(side, prepared ?? '')
    times.push(performance.now() - began)
  }
  return times
}

/** The CPU time of the server for the oldest of the ended runs, until they are gone, and for a new run. */
async function measurePruning(lab: Lab, sides: Sides): Promise<readonly Measurement[]> {
  const [many, few] = [await costsOf(lab, sides[0]), await costsOf(lab, sides[1])]
  const line = (what: string, cost: keyof Costs): readonly Measurement[] => {
    const [ours, bare] = [many[cost], few[cost]]
    if (ours === undefined || bare === undefined) return []
    return [{ what, unit: 'ns', count: many.pruned, ours: { values: [ours] }, bare: { values: [bare] } }]
  }
  return [
    ...line('CPU of the server, for each run pruned', 'prune'),
    ...line('  for the vacuum after a fiftieth', 'vacuum'),
    ...line('  for a new run with a wait, 1,000 at once', 'run'),
  ]
}

interface Costs {
  readonly pruned: number
  readonly prune: number | undefined
  readonly vacuum: number | undefined
  readonly run: number | undefined
}

async function costsOf(lab: Lab, side: OldSchema): Promise<Costs> {
  const pruned = Math.ceil(side.runs.count / FIFTIETH)
  const before = await side.runs.endOf(pruned)
  const prune = await side.cpuOf(async () => {
    while ((await side.storage.prune({ before, limit: BATCH, now: Date.now() })) === BATCH);
  })
  const vacuum = await side.cpuOf(() => side.runs.vacuum())
  const started = lab.count(RUNS)
  const run = await side.cpuOf(() => inCrowds(side.approvals, { count: started, isParked: false }))
  const each = (ns: number | undefined, count: number): number | undefined => ns && ns / count
  return { pruned, prune: each(prune, pruned), vacuum: each(vacuum, pruned), run: each(run, started) }
}

const note = task({ id: TASK_ID, run: async () => undefined })

/** A schema with ended runs, an engine that executes nothing, one that does, and a storage that claims. */
class OldSchema {
  readonly runs: EndedRuns
  readonly engine: Engine
  readonly storage: Storage
  readonly approvals: EngineApprovals
  #claims = 0

  private constructor(runs: EndedRuns) {
    this.runs = runs
    this.engine = createEngine({ tasks: [note], storage: runs.bed.storage(), execute: false })
    this.storage = runs.bed.storage()
    this.approvals = new EngineApprovals(LEASE_MS, runs.bed.storage())
  }

  static async open(count: number): Promise<OldSchema> {
    const runs = new EndedRuns(count)
    await runs.fill()
    const side = new OldSchema(runs)
    await side.engine.ready()
    await side.approvals.ready()
    await side.storage.open()
    await side.tick()
    return side
  }

  tick(): unknown {
    const now = Date.now()
    return this.storage.tick({ owner: 'bench', leaseUntil: now + LEASE_MS, now, limit: BATCH })
  }

  claim(): unknown {
    return this.storage.runs.claim({
      ...{ by: 'bench', now: Date.now(), number: (this.#claims += 1), taskIds: [TASK_ID], limit: 1 },
      ...{ queueLimits: new Map(), maxInterruptions: 10 },
    })
  }

  async cpuOf(work: () => Promise<unknown>): Promise<number | undefined> {
    const before = await serverCpuNs(this.runs.bed.pool)
    await work()
    const after = await serverCpuNs(this.runs.bed.pool)
    return before === undefined || after === undefined ? undefined : after - before
  }

  async close(): Promise<void> {
    await this.storage.leave({ owner: 'bench', now: Date.now() })
    await this.approvals.close()
    await this.engine.close()
    await this.runs.bed.close()
  }
}

/** One thing that is measured, and what each call is given. */
interface Step {
  readonly what: string
  readonly calls?: number
  readonly prepare?: (side: OldSchema) => Promise<string>
  readonly call: (side: OldSchema, prepared: string) => unknown
}

const STEPS: readonly Step[] = [
  { what: 'run triggered', call: ({ engine }) => engine.trigger(note, undefined, { tags: ['all'] }) },
  { what: 'run claimed', call: (side) => side.claim() },
  { what: 'token created', call: ({ engine }) => engine.wait.createToken({ timeout: LEASE_MS }) },
  {
    what: 'token completed',
    prepare: async ({ engine }) => (await engine.wait.createToken({ timeout: LEASE_MS })).id,
    call: ({ engine }, id) => engine.wait.completeToken(id, { approved: true }),
  },
  {
    what: 'run with a wait, one at a time',
    call: ({ approvals }) => inCrowds(approvals, { count: 1, isParked: false }),
  },
  { what: 'tick', call: (side) => side.tick() },
  listStep('of all', {}),
  listStep('by a common status', { status: 'COMPLETED' }),
  listStep('by a status that 1 in 50 has', { status: 'FAILED' }),
  listStep('by task', { taskIdentifier: TASK_ID }),
  listStep('by a tag that all have', { tag: 'all' }),
  listStep('by a tag that 1 in 100 has', { tag: 'rare' }),
  listStep('by a week, two weeks ago', () => aWeek()),
  listStep('by a week and a status', () => ({ ...aWeek(), status: 'FAILED' })),
  listStep('by a week and a task', () => ({ ...aWeek(), taskIdentifier: TASK_ID })),
  listStep('by a week and a tag', () => ({ ...aWeek(), tag: 'all' })),
  {
    what: 'page of tokens',
    call: ({ engine }) => engine.wait.listTokens({ status: 'COMPLETED', limit: PAGE }),
  },
  {
    what: '1,000 records pruned',
    calls: 1,
    call: ({ storage }) => storage.prune({ before: Date.now(), limit: BATCH, now: Date.now() }),
  },
]

function listStep(which: string, filter: ListRunsParams | (() => ListRunsParams)): Step {
  return {
    what: `page of runs, ${which}`,
    call: ({ engine }) =>
      engine.runs.list({ ...(typeof filter === 'function' ? filter() : filter), limit: PAGE }),
  }
}

function aWeek(): ListRunsParams {
  const to = Date.now() - (AGE_DAYS - 3) * DAY_MS
  return { from: to - 7 * DAY_MS, to }
}
