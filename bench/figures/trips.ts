import { pauseReal } from '../../src/storage/real-timer.ts'
import { EngineApprovals } from '../engine-approvals.ts'
import type { Figure, Lab } from '../lab.ts'
import type { Measurement } from '../measurement.ts'
import { PostgresBed, serveWhile, storageOfSchema, watchedPool } from '../postgres-bed.ts'
import { serverCpuNs } from '../server-cpu.ts'
import { inCrowds } from '../approval-loops.ts'

const RUNS = 500
const TIMEOUT_MS = 600_000
const NS_PER_MS = 1e6
/** The functions that are shown, the dearest first. */
const SHOWN = 12
const PATIENCE_MS = 50
const LOOKS = 200
const NOTIFY = 'pg_notify'
/** One in so many runs comes before the CPU is counted: connections plan the statements of functions with their first calls. */
const WARM_UP = 10

/** One function of the schema: how often it was called, its own time and that of what it calls, in milliseconds. */
interface FunctionCost {
  readonly name: string
  readonly calls: number
  readonly selfMs: number
  readonly totalMs: number
}

/** One kind of statement: how often it was sent, for how long it was under way, and for how long alone but for notifications. */
interface Step {
  readonly name: string
  trips: number
  underWayMs: number
  aloneMs: number
}

/**
 * What a run with a wait asks of a Postgres server when one run follows another: its steps, and where the server's time goes. Its token is
 * completed at once, or when the run has parked.
 */
export const trips: Figure = {
  name: 'trips',
  contests: [],
  measure: (lab) =>
    serveWhile(async () => [...(await measureTrips(lab, false)), ...(await measureTrips(lab, true))]),
}

async function measureTrips(lab: Lab, isParked: boolean): Promise<readonly Measurement[]> {
  const count = lab.count(RUNS)
  const bed = new PostgresBed({ options: '-c track_functions=all' })
  const reader = new PostgresBed()
  const asked = new Journey()
  const pool = watchedPool(bed.pool, (text, _values, answer) => asked.note(text, answer))
  const approvals = new EngineApprovals(TIMEOUT_MS, bed.storage(pool))
  try {
    await approvals.ready()
    asked.begin()
    const began = performance.now()
    await inCrowds(approvals, { count, isParked, atOnce: 1 })
    const perRun = ((performance.now() - began) * NS_PER_MS) / count
    const steps = asked.steps()
    await approvals.close()
    // A connection tells its numbers when it ends.
    await bed.pool.end()
    const costs = await functionCosts(reader, bed.schema)
    const cpu = await serverCpuOfRun(count, isParked)
    const each = (ms: number): number => (ms * NS_PER_MS) / count
    const line = (what: string, unit: Measurement['unit'], value: number): Measurement => ({
      what,
      unit,
      count,
      ours: { values: [value] },
    })
    return [
      line(`run with a wait${isParked ? ' that parks' : ''}, one after another, on Postgres`, 'ns', perRun),
      line('  statements a run', 'count', sum(steps, ({ trips: sent }) => sent) / count),
      {
        ...line('  time of its functions on the server', 'ns', each(sum(costs, ({ selfMs }) => selfMs))),
        goal: { kind: 'value', most: NS_PER_MS },
      },
      ...(cpu === undefined ? [] : [line('  CPU of the server, over connections of the storage', 'ns', cpu)]),
      line(
        '  time in which it waits for one statement alone',
        'ns',
        each(sum(steps, ({ aloneMs }) => aloneMs)),
      ),
      ...told(steps, costs, count).map(({ what, aloneMs }) => line(`    ${what}`, 'ns', each(aloneMs))),
      ...costs
        .slice(0, SHOWN)
        .map(({ name, calls: called, selfMs }) =>
          line(`    ${name} by itself, ${(called / count).toFixed(1)} calls`, 'ns', each(selfMs)),
        ),
    ]
  } finally {
    await reader.drop(bed.schema)
    await reader.close()
  }
}

/**
 * The CPU time of the server for a run, in nanoseconds: of all its processes, parsing and planning included, with nothing else measured and a
 * storage that opens its connections itself.
 */
async function serverCpuOfRun(count: number, isParked: boolean): Promise<number | undefined> {
  const bed = new PostgresBed()
  const approvals = new EngineApprovals(TIMEOUT_MS, storageOfSchema(bed.schema))
  try {
    await approvals.ready()
    await inCrowds(approvals, { count: Math.ceil(count / WARM_UP), isParked, atOnce: 1 })
    const before = await serverCpuNs(bed.pool)
    await inCrowds(approvals, { count, isParked, atOnce: 1 })
    const after = await serverCpuNs(bed.pool)
    return before === undefined || after === undefined ? undefined : (after - before) / count
  } finally {
    await approvals.close()
    await bed.close()
  }
}

/** The statements that are sent while runs follow one another. */
class Journey {
  readonly #steps = new Map<string, Step>()
  readonly #underWay = new Set<Step>()
  #open = 0
  #at = 0

  /** From now on. */
  begin(): void {
    this.#steps.clear()
  }

  note(text: string, answer: Promise<unknown>): void {
    this.#pass()
    const name = /\.(\w+)\(\$1::json/.exec(text)?.[1] ?? (text.includes(NOTIFY) ? NOTIFY : 'others')
    const step = this.#steps.get(name) ?? { name, trips: 0, underWayMs: 0, aloneMs: 0 }
    this.#steps.set(name, step)
    step.trips += 1
    // No run waits for these, and they go on beside everything.
    if (name === NOTIFY) return
    this.#open += 1
    this.#underWay.add(step)
    const began = this.#at
    const end = (): void => {
      this.#pass()
      this.#open -= 1
      this.#underWay.delete(step)
      step.underWayMs += this.#at - began
    }
    answer.then(end, end)
  }

  /** In the order in which they were sent first. */
  steps(): readonly Step[] {
    return [...this.#steps.values()].map((step) => ({ ...step }))
  }

  /** The time since the last change goes to what was under way alone. */
  #pass(): void {
    const now = performance.now()
    if (this.#open === 1) for (const step of this.#underWay) step.aloneMs += now - this.#at
    this.#at = now
  }
}

/** The steps in a line each, with their place among those that the run waits for. */
function told(
  steps: readonly Step[],
  costs: readonly FunctionCost[],
  count: number,
): readonly { readonly what: string; readonly aloneMs: number }[] {
  let place = 0
  return steps.map(({ name, trips: sent, underWayMs, aloneMs }) => {
    const isWaitedFor = aloneMs > underWayMs / 2 && sent >= count / 2
    if (isWaitedFor) place += 1
    const serverMs = costs.find((cost) => cost.name === name)?.totalMs
    const server =
      serverMs === undefined ? '' : `, ${((serverMs / count) * 1_000).toFixed(0)} µs on the server`
    return {
      what: `${isWaitedFor ? `${place}.` : 'beside:'} ${name}, ${(sent / count).toFixed(1)} trips${server}`,
      aloneMs,
    }
  })
}

async function functionCosts(reader: PostgresBed, schema: string): Promise<readonly FunctionCost[]> {
  let costs: readonly FunctionCost[] = []
  for (let look = 0; look < LOOKS; look++) {
    const { rows } = await reader.pool.query(
      'SELECT funcname, calls, self_time, total_time FROM pg_stat_user_functions WHERE schemaname = $1 ORDER BY self_time DESC',
      [schema],
    )
    const found = (rows as readonly Readonly<Record<string, unknown>>[]).map((row) => ({
      name: String(row['funcname']),
      calls: Number(row['calls']),
      selfMs: Number(row['self_time']),
      totalMs: Number(row['total_time']),
    }))
    const isStill = found.length > 0 && sum(found, calls) === sum(costs, calls)
    costs = found
    if (isStill) break
    await pauseReal(PATIENCE_MS)
  }
  return costs
}

function calls(cost: FunctionCost): number {
  return cost.calls
}

function sum<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0)
}
