import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Engine, Task } from 'waitpoint'
import { createEngine, task, wait } from 'waitpoint'
import { storageOfSchema } from './postgres-bed.ts'

/** The argument that makes `main` a worker. */
export const WORKER_FLAG = '--worker'

/** Waits for the given token, and returns the machine time at which it continued. */
export const goOn: Task<string, number> = task({
  id: 'go-on',
  run: async (token: string): Promise<number> => {
    await wait.forToken(token)
    return machineTimeNs()
  },
})

/** A remote executor of runs that can be closed. */
export interface Elsewhere {
  close(): Promise<void>
}

/** The machine's time in nanoseconds, equal for all its processes. */
export function machineTimeNs(): number {
  return Number(process.hrtime.bigint())
}

/** Opens an engine that executes `goOn`. */
export async function openWorker(schema: string): Promise<Engine> {
  const engine = createEngine({ tasks: [goOn], storage: storageOfSchema(schema) })
  await engine.ready()
  return engine
}

/** Starts a process that executes `goOn`. */
export async function startWorker(schema: string): Promise<Elsewhere> {
  const [, main = ''] = process.argv
  const child = fork(main, [WORKER_FLAG, schema])
  await Promise.race([once(child, 'message'), failedStart(child)])
  return {
    async close() {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}

async function failedStart(child: ReturnType<typeof fork>): Promise<never> {
  const [code] = (await once(child, 'exit')) as [number | null]
  throw new Error(`Cannot start a worker: its process ended with ${code}`)
}

/** The main function of a worker process. It ends when its parent disconnects. */
export async function serveWorker([schema = '']: readonly string[]): Promise<void> {
  const engine = await openWorker(schema)
  process.on('disconnect', () => void engine.close().then(() => process.exit()))
  process.send?.('ready')
}
