/*
 * A process that closes its engine when it is told to on its standard input: `closing <place>`. A run waits, and another one executes.
 * With `closing <place> opening` the engine still opens. It says `ready`, and `closed` at the end; then nothing is left that keeps it alive.
 */
import { createEngine, task, wait } from 'waitpoint'
import { storageAt } from './storage-at.ts'

const [place = '', moment = 'working'] = process.argv.slice(2)

const idle = task({ id: 'idle', run: async () => wait.forToken(await wait.createToken()) })
const busy = task({
  id: 'busy',
  run: async () => {
    for (;;) await wait.createToken()
  },
})

const engine = createEngine({ tasks: [idle, busy], storage: storageAt(place).storage, leaseMs: 3_600_000 })
async function work(): Promise<void> {
  const run = await engine.trigger(idle, undefined)
  for await (const { isWaiting } of engine.runs.subscribeToRun(run)) if (isWaiting) break
  await engine.trigger(busy, undefined)
}

async function stop(): Promise<void> {
  process.stdin.destroy()
  await engine.close()
  process.stdout.write('closed')
}
if (moment === 'opening') engine.ready().catch(() => undefined)
else await work()
process.stdin.once('data', () => void stop())
process.stdout.write('ready')
