import type { Engine } from 'waitpoint'
import { createEngine } from 'waitpoint'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { RecordedQuestions } from '../bare/replayed-questions.ts'
import type { Contest, Contestant } from '../contest.ts'
import { EngineApprovals } from '../engine-approvals.ts'
import type { Figure, Lab } from '../lab.ts'
import type { Measurement } from '../measurement.ts'
import { PostgresBed, serveWhile, watchedPool } from '../postgres-bed.ts'
import { goOn, machineTimeNs } from '../postgres-worker.ts'
import { inCrowds } from '../approval-loops.ts'

const AT_ONCE = 1_000
const TIMEOUT_MS = 600_000
const NS_OF_A_WAKE_UP = 3_000_000
/** Twenty times the best peer, which was measured at 229 runs a second. */
const NS_OF_A_RUN = 1e9 / (20 * 229)
const REST_LEASE_MS = 900

const together: Contest<'ours' | 'bare'> = {
  name: 'run with a wait, 1,000 at once, on Postgres',
  count: AT_ONCE,
  rounds: 10,
  warmUps: 3,
  sides: { ours: onEngine, bare: onBareDriver },
}

/**
 * Runs on a Postgres server: in one process, compared with the same statements without an engine, and in several
 * processes.
 */
export const postgres: Figure = {
  name: 'postgres',
  contests: [together],
  measure: (lab) =>
    serveWhile(async () => [
      ...(await runs(lab)),
      await statements(lab),
      ...(await processes(lab)),
      await atRest(lab),
    ]),
}

async function runs(lab: Lab): Promise<readonly Measurement[]> {
  const { ours, bare } = await lab.hold(together)
  const common = { unit: 'ns', count: lab.count(together.count), ours } as const
  return [
    { ...common, what: together.name, bare, goal: { kind: 'ratio', most: 2 } },
    { ...common, what: '  20 times the best peer', goal: { kind: 'value', most: NS_OF_A_RUN } },
  ]
}

async function onEngine(count: number): Promise<Contestant> {
  const bed = new PostgresBed()
  const approvals = new EngineApprovals(TIMEOUT_MS, bed.storage())
  await approvals.ready()
  return {
    pass: () => inCrowds(approvals, { count, isParked: false }),
    async close() {
      await approvals.close()
      await bed.close()
    },
  }
}

/** Records the statements of one crowd first. */
async function onBareDriver(count: number): Promise<Contestant> {
  const original = new PostgresBed()
  const recorded = await recordCrowd(original, count)
  const used: PostgresBed[] = [original]
  let next = original
  return {
    async before() {
      next = new PostgresBed()
      used.push(next)
      const approvals = new EngineApprovals(TIMEOUT_MS, next.storage())
      await approvals.ready()
      await approvals.close()
    },
    pass: () => recorded.ask(next.pool, original.schema, next.schema),
    async close() {
      for (const bed of used) await bed.close()
    },
  }
}

async function recordCrowd(bed: PostgresBed, count: number): Promise<RecordedQuestions> {
  const set = new EngineApprovals(TIMEOUT_MS, bed.storage())
  await set.ready()
  await set.close()
  const recorded = new RecordedQuestions()
  const approvals = new EngineApprovals(TIMEOUT_MS, bed.storage(watchedPool(bed.pool, recorded.note)))
  await approvals.ready()
  await inCrowds(approvals, { count, isParked: false })
  recorded.stop()
  await approvals.close()
  return recorded
}

async function statements(lab: Lab): Promise<Measurement> {
  const bed = new PostgresBed()
  const count = lab.count(AT_ONCE)
  const values: number[] = []
  let asked = 0
  const approvals = new EngineApprovals(TIMEOUT_MS, bed.storage(watchedPool(bed.pool, () => (asked += 1))))
  await approvals.ready()
  for (let round = 0; round < lab.rounds(5); round++) {
    const before = asked
    await inCrowds(approvals, { count, isParked: false })
    values.push((asked - before) / count)
  }
  await approvals.close()
  await bed.close()
  return { what: '  statements a run', unit: 'count', count, ours: { values } }
}

/** One process triggers and completes; other processes execute. */
async function processes(lab: Lab): Promise<readonly Measurement[]> {
  const bed = new PostgresBed()
  const web = createEngine({ tasks: [goOn], storage: bed.storage(), execute: false })
  const first = await lab.startWorker(bed.schema)
  const wakeUps = { values: await many(lab.rounds(300), () => wakeUp(web)) }
  const count = lab.count(AT_ONCE)
  const rounds = lab.rounds(6)
  const byOne = { values: await many(rounds, () => crowd(web, count)) }
  const second = await lab.startWorker(bed.schema)
  await crowd(web, count)
  const byTwo = { values: await many(rounds, () => crowd(web, count)) }
  await web.close()
  await Promise.all([first.close(), second.close()])
  await bed.close()
  const goal = { kind: 'value', most: NS_OF_A_WAKE_UP } as const
  return [
    {
      what: 'completed in one process → next line in another',
      unit: 'ns',
      count: 1,
      ours: wakeUps,
      goal,
    },
    { what: 'run with a wait, 1,000 at once, one worker process', unit: 'ns', count, ours: byOne },
    { what: '  two worker processes', unit: 'ns', count, ours: byTwo },
  ]
}

async function many(times: number, measure: () => Promise<number>): Promise<number[]> {
  const values: number[] = []
  for (let time = 0; time < times; time++) values.push(await measure())
  return values
}

/** From the call that completes a token to the next line of the task. */
async function wakeUp(web: Engine): Promise<number> {
  const token = await web.wait.createToken()
  const run = await web.trigger(goOn, token.id)
  for await (const { status } of web.runs.subscribeToRun(run.id)) if (status === 'WAITING') break
  const start = machineTimeNs()
  await web.wait.completeToken(token)
  return (await run.result()) - start
}

/** Triggers all runs, completes all, then takes all results. Returns nanoseconds for each run. */
async function crowd(web: Engine, count: number): Promise<number> {
  const start = machineTimeNs()
  const tokens = await Promise.all(Array.from({ length: count }, () => web.wait.createToken()))
  const handles = await Promise.all(tokens.map(({ id }) => web.trigger(goOn, id)))
  await Promise.all(tokens.map((token) => web.wait.completeToken(token)))
  await Promise.all(handles.map((handle) => handle.result()))
  return (machineTimeNs() - start) / count
}

/** The queries of an idle worker, in a third of its lease. */
async function atRest(lab: Lab): Promise<Measurement> {
  const bed = new PostgresBed()
  let asked = 0
  const storage = bed.storage(watchedPool(bed.pool, () => (asked += 1)))
  const engine = createEngine({ tasks: [goOn], storage, leaseMs: REST_LEASE_MS })
  // A second owner: a single one would get an endless lease.
  const other = createEngine({ tasks: [goOn], storage: bed.storage(), leaseMs: REST_LEASE_MS })
  await Promise.all([engine.ready(), other.ready()])
  await pauseReal(REST_LEASE_MS)
  const thirds = lab.rounds(30)
  const before = asked
  await pauseReal((thirds * REST_LEASE_MS) / 3)
  const values = [(asked - before) / thirds]
  await Promise.all([engine.close(), other.close()])
  await bed.close()
  const goal = { kind: 'value', most: 1 } as const
  return {
    what: 'queries of a worker at rest, in ⅓ of a lease',
    unit: 'count',
    count: thirds,
    ours: { values },
    goal,
  }
}
