import { statements } from '../../src/testing/storages/statements.ts'

/** One turn of the event loop; on a storage that is not in this process with all that it answers to what was asked by then. */
export async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  await statements.atRest()
}

/** Turns of the event loop until something is so: microtasks alone would keep a storage that is far away from answering. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn()
}
