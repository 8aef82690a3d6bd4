import { AsyncLocalStorage } from 'node:async_hooks'
import type { Process } from './process.ts'

/** One for all schedules: each of them would go on to cost every later promise a little. */
const processes = new AsyncLocalStorage<Process>()

/** Runs code that is no task as code of a process, such as that of a served application. */
export function runInProcess(process: Process, code: () => void): void {
  processes.run(process, code)
}

/** The process of the application code that calls; `undefined` for the body. */
export function applicationProcess(): Process | undefined {
  return processes.getStore()
}
