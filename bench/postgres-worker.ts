import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Engine, Task } from 'waitpoint'
import { createEngine, task, wait } from 'waitpoint'
import { pauseReal } from '../src/storage/real-timer.ts'
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

/** How an approval is asked for. */
export interface ApprovalOptions {
  /** How long a run executes before it asks, without the CPU. Default: not at all. */
  readonly workMs?: number
  /** Told of each token that a run waits for. */
  readonly asked?: (tokenId: string) => void
}

/** Asks for an approval and waits for it. */
export function approvalTask({ workMs = 0, asked }: ApprovalOptions = {}): Task<string, boolean> {
  return task({
    id: 'approval',
    run: async (): Promise<boolean> => {
      if (workMs > 0) await pauseReal(workMs)
      const token = await wait.createToken({ timeout: '1h' })
      asked?.(token.id)
      return wait.forToken<boolean>(token).unwrap()
    },
  })
}

/** Which runs a worker executes, and over which way. */
export interface WorkerOptions extends ApprovalOptions {
  /** Runs that it executes at once. Default: any number. */
  readonly concurrency?: number
  /** The server, over another way than that of this process. */
  readonly url?: string
  /** Statements that it may have under way at once. Default: that of the storage. */
  readonly connections?: number
}

/** A remote executor of runs that can be closed. */
export interface Elsewhere {
  /** Its process, unless it is this one. */
  readonly pid?: number | undefined
  close(): Promise<void>
}

/** The machine's time in nanoseconds, equal for all its processes. */
export function machineTimeNs(): number {
  return Number(process.hrtime.bigint())
}

/** Opens an engine that executes `goOn` and `approvalTask`. */
export async function openWorker(schema: string, options: WorkerOptions = {}): Promise<Engine> {
  const { concurrency, url, connections } = options
  const engine = createEngine({
    tasks: [goOn, approvalTask(options)],
    storage: storageOfSchema(schema, url, connections),
    ...(concurrency !== undefined && { concurrency }),
  })
  await engine.ready()
  return engine
}

/** Starts a process that executes `goOn` and `approvalTask`. */
export async function startWorker(schema: string, options: WorkerOptions = {}): Promise<Elsewhere> {
  const [, main = ''] = process.argv
  const { asked, ...others } = options
  const child = fork(main, [WORKER_FLAG, schema, JSON.stringify(others)])
  await Promise.race([once(child, 'message'), failedStart(child)])
  // `serveWorker` sends tokens from the other end.
  child.on('message', (tokenId) => asked?.(tokenId as string))
  return {
    pid: child.pid,
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
export async function serveWorker([schema = '', options = '{}']: readonly string[]): Promise<void> {
  // `startWorker` has written it.
  const given = JSON.parse(options) as WorkerOptions
  const engine = await openWorker(schema, { ...given, asked: (tokenId) => process.send?.(tokenId) })
  process.on('disconnect', () => void engine.close().then(() => process.exit()))
  process.send?.('ready')
}
