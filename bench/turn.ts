import type { Engine } from 'waitpoint'

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Until no run of an engine executes: those that wait have parked. */
export async function parked(engine: Engine): Promise<void> {
  do await turn()
  while (engine.stats().executing > 0)
}
