import { Refusal } from './refusal.ts'
import { decodeText, parseJson, readChunk, readerOf } from './request-body.ts'

const NEW_LINE = 10

/**
 * The values of a body of JSON lines, as they come: all lines of one piece of the body at once. Reading the body waits for
 * whoever takes them.
 *
 * @throws Refusal 413 for a line longer than `mostBytes`; 400 for one that is not JSON.
 */
export async function* readLines(request: Request, mostBytes: number): AsyncGenerator<readonly unknown[]> {
  const reader = readerOf(request)
  if (reader === undefined) return
  let rest: Uint8Array = new Uint8Array()
  try {
    for (let piece = await readChunk(reader); piece !== undefined; piece = await readChunk(reader)) {
      const all = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      const end = all.lastIndexOf(NEW_LINE) + 1
      rest = all.subarray(end)
      if (rest.length > mostBytes) throw lineTooLong()
      if (end > 0) yield valuesOf(all.subarray(0, end), mostBytes)
    }
    if (rest.length > 0) yield valuesOf(rest, mostBytes)
  } finally {
    // Not awaited: the source may take its time to stop, or for ever.
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
  // Nobody is left to be told.
}
