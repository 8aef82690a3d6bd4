/*
 * One life of a process whose task is due at each second: `scheduled <place> none|all load|finish`. In `load` it says when it
 * is ready, and goes on until it is killed; in `finish` it waits for all runs, and prints their instants.
 */
import { createEngine, type Engine, task } from 'waitpoint'
import { pauseReal } from '../../../src/storage/real-timer.ts'
import { endWithParent, leaseMs } from './life.ts'
import { storageAt } from './storage-at.ts'

const [place = '', catchUp, mode] = process.argv.slice(2)

const tick = task({
  id: 'tick',
  // As the process that started this one says.
  schedule: { cron: '* * * * * *', catchUp: catchUp as 'none' | 'all' },
  run: async ({ timestamp }) => timestamp.getTime(),
})

/** Prints the instants of all runs up to now, once they have ended. */
async function finish(engine: Engine): Promise<void> {
  const until = Date.now()
  const runs = { taskIdentifier: tick.id, to: until }
  const live = { ...runs, status: ['QUEUED', 'EXECUTING', 'WAITING'] as const, limit: 1 }
  while ((await engine.runs.list({ ...live, status: [...live.status] })).data.length > 0) await pauseReal(20)
  for await (const { id } of engine.runs.list(runs)) {
    const { output } = await engine.runs.retrieve(id)
    process.stdout.write(`${JSON.stringify(output ?? null)}\n`)
  }
}

endWithParent()
const placed = storageAt(place)
const engine = createEngine({
  tasks: [tick],
  storage: placed.storage,
  maxInterruptions: 1_000_000,
  leaseMs,
  retention: { maxAge: '1d' },
})
await engine.ready()
process.stdout.write(mode === 'load' ? 'ready\n' : '')
if (mode === 'finish') {
  await finish(engine)
  await engine.close()
  placed.close()
}
