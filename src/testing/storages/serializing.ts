import type { ChunkRecord } from '../../contract/records.ts'
import type { Storage } from '../../contract/storage.ts'
import { fromJson } from '../../core/host/serialize.ts'
import { wrapStorage } from './wrapped.ts'

/**
 * The same storage, for a writer whose chunks become what their JSON text says. Payloads and outputs are always kept as
 * text; only chunks are shared in memory, and could hide what a storage on disk would lose.
 */
export function serializingStorage(storage: Storage): Storage {
  const passing = wrapStorage(storage, (_name, operation) => operation)
  return {
    ...passing,
    chunks: {
      ...passing.chunks,
      append(request) {
        // The writer's own list: once it is stored, its readers get what is in it.
        const chunks = request.chunks as ChunkRecord[]
        for (const [index, { text, bytes }] of chunks.entries())
          chunks[index] = { value: fromJson(text), text, bytes }
        return passing.chunks.append(request)
      },
    },
  }
}
