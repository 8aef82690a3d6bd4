import type { ChunkRecord } from '../../contract/records.ts'
import { JsonText } from '../../primitives/json.ts'
import { BREAK, onOneLine } from '../sql-rows.ts'
import type { SqliteSession } from './session.ts'

interface ChunkRange {
  readonly runId: string
  readonly key: string
  readonly from: number
  readonly limit: number
}

interface ChunkBatch {
  readonly runId: string
  readonly key: string
  readonly first: number
  readonly chunks: readonly ChunkRecord[]
}

const ROWS_AT_ONCE = 64

/** All chunks of one append are one row. */
export function writeChunkRow({ database }: SqliteSession, { runId, key, first, chunks }: ChunkBatch): void {
  database.run(
    'INSERT INTO chunks (run_id, key, first, count, texts) VALUES (?, ?, ?, ?, ?)',
    runId,
    key,
    first,
    chunks.length,
    chunks.map(({ text }) => onOneLine(text)).join(BREAK),
  )
}

/** The chunks from `from`, as many as there are up to `limit`. */
export function readChunkRows(
  { database }: SqliteSession,
  { runId, key, from, limit }: ChunkRange,
): ChunkRecord[] {
  const chunks: ChunkRecord[] = []
  let next = from
  while (chunks.length < limit) {
    const rows = database.all(
      `SELECT first, texts FROM chunks WHERE run_id = ?1 AND key = ?2 AND first >=
         (SELECT max(first) FROM chunks WHERE run_id = ?1 AND key = ?2 AND first <= ?3)
       ORDER BY first LIMIT ?4`,
      runId,
      key,
      next,
      Math.min(ROWS_AT_ONCE, limit - chunks.length),
    )
    const before = next
    for (const row of rows) {
      const texts = String(row['texts']).split(BREAK)
      const skipped = next - Number(row['first'])
      const taken = texts.slice(skipped, skipped + limit - chunks.length)
      for (const text of taken) chunks.push(JsonText.ofText(text))
      next += taken.length
    }
    if (next === before) break
  }
  return chunks
}
