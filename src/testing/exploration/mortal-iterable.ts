import type { Process } from './process.ts'

/** Rejects the reads of an engine whose process has crashed. */
export class ProcessCrashedError extends Error {
  constructor() {
    super('Cannot read on: the process crashed in this schedule; catch this and subscribe again')
    this.name = 'ProcessCrashedError'
  }
}

/** The iterable as seen by a process. Its reads reject when the process that serves them dies. */
export function mortal<Item>(iterable: AsyncIterable<Item>, process: Process): AsyncIterable<Item> {
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = iterable[Symbol.asyncIterator]()
      const cutOff = process.died.promise.then(() => {
        throw new ProcessCrashedError()
      })
      cutOff.catch(() => undefined)
      return {
        next: () => Promise.race([iterator.next(), cutOff]),
        return: async (value?: unknown) =>
          process.isDead
            ? { done: true, value }
            : ((await iterator.return?.(value)) ?? { done: true, value }),
      }
    },
  }
}
