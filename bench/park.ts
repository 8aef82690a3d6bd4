import { fork } from 'node:child_process'
import type { Approvals } from './bare/approvals.ts'
import { RecordedApprovals } from './bare/recorded-approvals.ts'
import { EngineApprovals } from './engine-approvals.ts'

/** What parked runs take. */
export interface ParkedMemory {
  /** Bytes more than before, after a full collection. */
  readonly heapBytes: number
  readonly residentBytes: number
  /** Timers that keep the event loop alive. */
  readonly timers: number
}

/** Whose runs are parked. */
export type ParkSide = 'ours' | 'bare'

export type MeasurePark = (side: ParkSide, count: number) => Promise<ParkedMemory>

const HOUR_MS = 3_600_000
const BATCH = 10_000
const OLD_SPACE_MB = 8_192

/** Runs that are parked, until they are closed. */
export interface Park {
  readonly memory: ParkedMemory
  close(): Promise<void>
}

/** Parks `count` runs in this process, each waiting for a token with a deadline of its own. */
export async function openPark(side: ParkSide, count: number): Promise<Park> {
  const approvals: Approvals = side === 'ours' ? new EngineApprovals(HOUR_MS) : new RecordedApprovals()
  const before = memoryUsage()
  for (let left = count; left > 0; left -= BATCH) {
    for (let run = Math.min(left, BATCH); run > 0; run--) {
      await approvals.trigger({ doc: 'chapter 1' })
      await approvals.asked()
    }
    await approvals.parked()
  }
  const after = memoryUsage()
  const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
  const heapBytes = after.heapUsed - before.heapUsed
  const residentBytes = after.rss - before.rss
  // That it can still be closed is what keeps it from being collected before it is measured.
  return { memory: { heapBytes, residentBytes, timers }, close: () => approvals.close() }
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
  const park = await openPark(side === 'ours' ? 'ours' : 'bare', Number(count))
  process.send?.(park.memory, () => process.exit())
}

function memoryUsage(): NodeJS.MemoryUsage {
  globalThis.gc?.()
  return process.memoryUsage()
}
