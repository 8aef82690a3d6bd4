import type { ChunkRecord } from '../../contract/records.ts'

/** From here on a text is sent: what one reader has of a page at a time. */
const FULL = 32 * 1_024

/** What is numbered from `first` on. */
export interface NumberedChunks {
  readonly first: number
  readonly chunks: readonly ChunkRecord[]
}

/**
 * The events of chunks, several to a text. The JSON text of a chunk is made once for all its readers; the text around it
 * when it is asked for.
 */
export function* chunkFrames(
  { first, chunks }: NumberedChunks,
  frame: (sequence: number, json: string) => string,
): Generator<string> {
  let text = ''
  let sequence = first
  for (const chunk of chunks) {
    text += frame(sequence, chunk.text)
    sequence += 1
    if (text.length < FULL) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}
