import type { ChunkRecord } from '../../contract/records.ts'
import type { StreamHistory } from '../../contract/storage.ts'
import { Deque } from '../../primitives/deque.ts'

/** A task that begins to read late still gets all chunks, if they are no more than so many histories. */
const HISTORIES = 4

/**
 * The chunks of one source that its task has not taken, for a storage that keeps only the newest ones: the task is promised
 * all of them. They are the records of the history, so that only those cost memory that have left it.
 */
export class UnreadChunks {
  readonly #history: StreamHistory
  readonly #chunks = new Deque<ChunkRecord>()
  /** The stream as its task has it: without it no chunk will be read. */
  #stream: WeakRef<object> | undefined
  #bytes = 0

  constructor(history: StreamHistory) {
    this.#history = history
  }

  /** Whether there are more than can be kept. */
  get isOverfull(): boolean {
    const { chunks, bytes } = this.#history
    return this.#chunks.length > HISTORIES * chunks || this.#bytes > HISTORIES * bytes
  }

  /** Whether the task has dropped the stream, as far as it is known. */
  get isForgotten(): boolean {
    return this.#stream !== undefined && this.#stream.deref() === undefined
  }

  /** They are needed while `stream` is reachable. */
  keepWhile(stream: WeakRef<object>): void {
    this.#stream = stream
  }

  push(chunk: ChunkRecord): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.bytes
  }

  shift(): ChunkRecord | undefined {
    const chunk = this.#chunks.shift()
    this.#bytes -= chunk?.bytes ?? 0
    return chunk
  }
}
