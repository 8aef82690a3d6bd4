import { ContextValue } from '../witness/context-value.ts'
import type { Process } from './process.ts'

const processes = new ContextValue<Process>()

/** Runs code that is no task as code of a process, such as that of a served application. */
export function runInProcess(process: Process, code: () => void): void {
  processes.run(process, code)
}

/** The process of the application code that calls; `undefined` for the body. */
export function applicationProcess(): Process | undefined {
  return processes.get()
}
