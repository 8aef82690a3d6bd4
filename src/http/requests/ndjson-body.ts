import { GatheredBytes } from './gathered-bytes.ts'
import { Refusal } from '../refusal.ts'
import { parseJson, readChunk, readerOf } from './body.ts'
import { decodeText } from './text.ts'

const NEW_LINE = 10

/**
 * The values of a body of JSON lines, in batches: all lines of one piece of the body at once. The body is read no
 * faster than the batches are taken.
 *
 * @throws Refusal 413 for a line longer than `mostBytes`; 400 for one that is not JSON.
 */
export async function* readLines(request: Request, mostBytes: number): AsyncGenerator<readonly unknown[]> {
  const reader = readerOf(request)
  if (reader === undefined) return
  const begun = new GatheredBytes()
  try {
    for (let piece = await readChunk(reader); piece !== undefined; piece = await readChunk(reader)) {
      const end = piece.lastIndexOf(NEW_LINE) + 1
      begun.add(piece.subarray(0, end))
      const lines = end > 0 ? begun.take() : undefined
      begun.add(piece.subarray(end))
      if (begun.size > mostBytes) throw lineTooLong()
      if (lines !== undefined) yield valuesOf(lines, mostBytes)
    }
    if (begun.size > 0) yield valuesOf(begun.take(), mostBytes)
  } finally {
    // Not awaited: the source may take long to stop, or never stop.
    reader.cancel().catch(ignore)
  }
}

function valuesOf(lines: Uint8Array, mostBytes: number): readonly unknown[] {
  const texts = decodeText(lines)
    .split('\n')
    .filter((line) => line.trim() !== '')
  if (texts.some((text) => text.length > mostBytes)) throw lineTooLong()
  return texts.map(parseJson)
}

function lineTooLong(): Refusal {
  return new Refusal(413, 'Chunk too large')
}

function ignore(): void {
  // The client has disconnected, so the failure has no receiver.
}
