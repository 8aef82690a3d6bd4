import { fork } from 'node:child_process'
import { parkCrowds, type ParkSide } from './park-crowds.ts'

/** What parked runs take. */
export interface ParkedMemory {
  /** Bytes more than before, after a full collection. */
  readonly heapBytes: number
  readonly residentBytes: number
  /** Timers that keep the event loop alive. */
  readonly timers: number
}

export type MeasurePark = (side: ParkSide, count: number) => Promise<ParkedMemory>

const OLD_SPACE_MB = 8_192

/** What is parked, until it is closed. */
export interface Park {
  readonly memory: ParkedMemory
  close(): Promise<void>
}

/** Parks `count` waits in this process, each for a token with a deadline of its own. */
export async function openPark(side: ParkSide, count: number): Promise<Park> {
  const crowd = await parkCrowds[side]()
  const before = memoryUsage()
  await crowd.park(count)
  const after = memoryUsage()
  const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
  const heapBytes = after.heapUsed - before.heapUsed
  const residentBytes = after.rss - before.rss
  // That it can still be closed is what keeps it from being collected before it is measured.
  return { memory: { heapBytes, residentBytes, timers }, close: () => crowd.close() }
}

/** The same in a process of its own with room enough, started by `main FLAG side count`. */
export function measureParkApart(side: ParkSide, count: number): Promise<ParkedMemory> {
  const [, main = ''] = process.argv
  const execArgv = ['--expose-gc', `--max-old-space-size=${OLD_SPACE_MB}`]
  return new Promise((resolve, reject) => {
    const child = fork(main, [PARK_FLAG, side, String(count)], { execArgv })
    let memory: ParkedMemory | undefined
    // Sent by `answerPark`, which is the other end.
    child.on('message', (message) => (memory = message as ParkedMemory))
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      if (memory !== undefined) resolve(memory)
      else reject(new Error(`Cannot park ${count} runs (${side}): the process ended with ${code ?? signal}`))
    })
  })
}

/** The argument that makes `main` such a process. */
export const PARK_FLAG = '--park'

/** What such a process does: it ends with its runs, whose closing would take longer than all the rest. */
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
