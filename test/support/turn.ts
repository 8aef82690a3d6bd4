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

/** More than any chain of promises in memory takes. */
const MOST_MICROTASKS = 10_000

/** Microtasks until something is so, for what must be looked at before a turn of the event loop; on storage in memory. */
export async function microtasksUntil(isSo: () => boolean): Promise<void> {
  for (let left = MOST_MICROTASKS; !isSo(); left -= 1) {
    if (left === 0) throw new Error(`Not so after ${MOST_MICROTASKS} microtasks: ${String(isSo)}`)
    await Promise.resolve()
  }
}
