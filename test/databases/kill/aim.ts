import type { ChildProcess } from 'node:child_process'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { pauseReal } from '../../../src/storage/real-timer.ts'
import { killNow } from './killed-process.ts'

/** The moment at which a process is to be killed: so long after it has said so many times that its phase begins. */
export interface Aim {
  readonly occurrence: number
  readonly delayMs: number
  /** Where its end is written down. */
  readonly file: string
}

/** What a timer may be late by is no matter for pauses from here on. */
const LONG_MS = 5

/** Kills a process that announces a phase. */
export async function killAt(child: ChildProcess, { occurrence, delayMs, file }: Aim): Promise<void> {
  const begun = createDeferred<void>()
  let seen = 0
  onAnnouncement(child, (what) => {
    if (what === 'begin' && (seen += 1) === occurrence) begun.resolve()
  })
  await begun.promise
  if (delayMs >= LONG_MS) await pauseReal(delayMs)
  else spin(delayMs)
  await killNow(child, file)
}

/** What most of a phase takes, nine times of ten, in a process that is killed afterwards. */
export async function measurePhase(child: ChildProcess, count: number): Promise<number> {
  const enough = createDeferred<void>()
  const durations: number[] = []
  let begunAt = 0
  onAnnouncement(child, (what) => {
    if (what === 'begin') begunAt = performance.now()
    else if (begunAt > 0) durations.push(performance.now() - begunAt)
    if (durations.length === count) enough.resolve()
  })
  await enough.promise
  await killNow(child)
  return durations.sort((one, other) => one - other)[Math.floor(0.9 * count)] ?? 0
}

function onAnnouncement(child: ChildProcess, listener: (what: string) => void): void {
  child.stdout?.on('data', (data) => {
    for (const line of String(data).split('\n')) if (line !== '') listener(line)
  })
}

/** Timers know milliseconds, a commit is shorter. */
function spin(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}
