import type { ChunkRecord } from '../../contract/records.ts'
import type { Storage } from '../../contract/storage.ts'
import { fromJson } from '../../core/host/serialize.ts'
import { wrapStorage } from './wrapped.ts'

/**
 * The storage with chunks that pass through JSON, as payloads and outputs always do. Memory shares chunk objects, which
 * could hide a loss that a storage on disk would show.
 */
export function serializingStorage(storage: Storage): Storage {
  const passing = wrapStorage(storage, (_name, operation) => operation)
  return {
    ...passing,
    chunks: {
      ...passing.chunks,
      append(request) {
        // The list belongs to the writer. Once it is stored, readers receive its items.
        const chunks = request.chunks as ChunkRecord[]
        for (const [index, { text, bytes }] of chunks.entries())
          chunks[index] = { value: fromJson(text), text, bytes }
        return passing.chunks.append(request)
      },
    },
  }
}
