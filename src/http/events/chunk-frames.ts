import type { ChunkRecord } from '../../contract/records.ts'

/** A text is sent when it reaches this size. It bounds the part of a page that one reader receives at a time. */
const FULL = 32 * 1_024

/** Chunks numbered upwards from `first`. */
export interface NumberedChunks {
  readonly first: number
  readonly chunks: readonly ChunkRecord[]
}

/**
 * The events of chunks, several to a text. The JSON text of a chunk is made once for all readers; the frame around it
 * is made on demand.
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
