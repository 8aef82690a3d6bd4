import { ContextValue } from '../witness/context-value.ts'
import { ProcessCrashedError } from './mortal-iterable.ts'

type Caught = (reason: unknown) => void
type Listener = (reason: unknown, promise: Promise<unknown>) => void

const EVENT = 'unhandledRejection'
const schedules = new ContextValue<Caught>()
const running = new Set<Caught>()
let holders = 0
/** The listeners of the test runner, which hear of what belongs to no schedule. */
let others: readonly Listener[] = []

/** Runs a schedule. The rejections that its code leaves unhandled are its own: the process and the test runner do not hear of them. */
export async function catchStray<T>(caught: Caught, run: () => Promise<T>): Promise<T> {
  const release = hearStray()
  running.add(caught)
  try {
    return await schedules.run(caught, run)
  } finally {
    running.delete(caught)
    release()
  }
}

/** Hears of rejections until it is released. Around many schedules, so that the listeners do not change for each. */
export function hearStray(): () => void {
  if (holders === 0) takeOver()
  holders += 1
  return () => {
    holders -= 1
    if (holders === 0) giveBack()
  }
}

function takeOver(): void {
  others = process.listeners(EVENT)
  for (const listener of others) process.off(EVENT, listener)
  process.on(EVENT, heard)
}

function giveBack(): void {
  process.off(EVENT, heard)
  for (const listener of others) process.on(EVENT, listener)
  others = []
}

function heard(reason: unknown, promise: Promise<unknown>): void {
  // Code of a dead process is told that it is dead, and need not handle it.
  if (reason instanceof ProcessCrashedError) return
  const [first, ...more] = running
  const caught = schedules.get() ?? (more.length === 0 ? first : undefined)
  if (caught !== undefined && running.has(caught)) return caught(reason)
  // As Node does without a listener.
  if (others.length === 0) throw reason
  for (const listener of others) listener(reason, promise)
}
