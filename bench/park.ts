import { fork } from 'node:child_process'
import { parkCrowds, type ParkSide } from './park-crowds.ts'

/** The memory of parked runs. */
export interface ParkedMemory {
  /** The growth of the heap in bytes, after a full collection. */
  readonly heapBytes: number
  readonly residentBytes: number
  /** Timers that keep the event loop alive. */
  readonly timers: number
}

export type MeasurePark = (side: ParkSide, count: number) => Promise<ParkedMemory>

const OLD_SPACE_MB = 8_192

/** A parked crowd that can be closed. */
export interface Park {
  readonly memory: ParkedMemory
  close(): Promise<void>
}

/** Parks `count` waits in this process, each for a token with its own deadline. */
export async function openPark(side: ParkSide, count: number): Promise<Park> {
  const crowd = await parkCrowds[side]()
  const before = memoryUsage()
  await crowd.park(count)
  const after = memoryUsage()
  const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
  const heapBytes = after.heapUsed - before.heapUsed
  const residentBytes = after.rss - before.rss
  // The reference for closing it also keeps it from being collected before the measurement.
  return { memory: { heapBytes, residentBytes, timers }, close: () => crowd.close() }
}

/** Measures a park in a process of its own with a large heap, started by `main FLAG side count`. */
export function measureParkApart(side: ParkSide, count: number): Promise<ParkedMemory> {
  const [, main = ''] = process.argv
  const execArgv = ['--expose-gc', `--max-old-space-size=${OLD_SPACE_MB}`]
  return new Promise((resolve, reject) => {
    const child = fork(main, [PARK_FLAG, side, String(count)], { execArgv })
    let memory: ParkedMemory | undefined
    // `answerPark` sends it from the other end.
    child.on('message', (message) => (memory = message as ParkedMemory))
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      if (memory !== undefined) resolve(memory)
      else reject(new Error(`Cannot park ${count} runs (${side}): the process ended with ${code ?? signal}`))
    })
  })
}

/** The argument that makes `main` a park process. */
export const PARK_FLAG = '--park'

/**
 * The main function of a park process. It exits with its runs, because closing them would take longer than all the
 * rest.
 */
export async function answerPark([side, count]: readonly string[]): Promise<void> {
  const park = await openPark(asSide(side), Number(count))
  process.send?.(park.memory, () => process.exit())
}

function asSide(name: string | undefined): ParkSide {
  const side = (Object.keys(parkCrowds) as ParkSide[]).find((one) => one === name)
  if (side === undefined) throw new Error(`Cannot park "${name}"`)
  return side
}

function memoryUsage(): NodeJS.MemoryUsage {
  globalThis.gc?.()
  return process.memoryUsage()
}
