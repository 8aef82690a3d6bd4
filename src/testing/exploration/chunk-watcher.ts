import type { Names } from './names.ts'
import type { CallWatcher } from './observer.ts'
import type { CallOf, StorageCall } from './storage-call.ts'
import { InvariantViolation } from './violation.ts'

/** Checks the reads of streams: no gap, no chunk beyond the end, and one value for each sequence. */
export class ChunkWatcher implements CallWatcher {
  readonly #names: Names
  readonly #seen = new Map<string, string>()

  constructor(names: Names) {
    this.#names = names
  }

  answered(call: StorageCall): void {
    if (call.name === 'chunks.read') this.#read(call)
  }

  #read({ args: [{ runId, key, from, limit }], reply }: CallOf<'chunks.read'>): void {
    if (reply?.answer === undefined) return
    const { stream, first, chunks } = reply.answer
    const name = `stream "${key}" of run "${this.#names.of(runId) ?? runId}"`
    const isFirst = first === from || (first > from && first === stream.first)
    if (!isFirst) throw violation(`${name}: asked from ${from}, storage answered from ${first}`)
    if (chunks.length > limit || (chunks.length > 0 && first + chunks.length > stream.next))
      throw violation(
        `${name}: storage answered ${chunks.length} chunks from ${first}, but it ends at ${stream.next}`,
      )
    for (const [index, { text }] of chunks.entries()) {
      const place = `${runId} ${key} ${first + index}`
      const seen = this.#seen.get(place)
      if (seen !== undefined && seen !== text)
        throw violation(`${name}: chunk ${first + index} was ${seen}, and now is ${text}`)
      this.#seen.set(place, text)
    }
  }
}

function violation(message: string): InvariantViolation {
  return new InvariantViolation('readers see a contiguous run of chunks', message)
}
