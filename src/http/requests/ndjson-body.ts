import type { Turns } from '../../core/inside.ts'
import { GatheredBytes } from '../../primitives/gathered-bytes.ts'
import { Refusal } from '../refusal.ts'
import { parseJson, piecesOf } from './body.ts'
import { decodeText } from './text.ts'

const NEW_LINE = 10
/** So many lines, or bytes, are one batch. */
const BATCH = { lines: 256, bytes: 65_536 }

/**
 * The values of a body of JSON lines, in batches of consecutive lines. The body is read no faster than the batches are
 * taken, and between two of them other requests get their turn.
 *
 * @throws Refusal 413 for a line longer than `mostBytes`; 400 for one that is not JSON; those of {@link piecesOf},
 *   before the values of a line that has no end.
 */
export async function* readLines(
  request: Request,
  mostBytes: number,
  turns: Turns,
): AsyncGenerator<readonly unknown[]> {
  const begun = new GatheredBytes()
  for await (const piece of piecesOf(request)) {
    const end = piece.lastIndexOf(NEW_LINE) + 1
    begun.add(piece.subarray(0, end))
    const lines = end > 0 ? begun.take() : undefined
    begun.add(piece.subarray(end))
    if (begun.size > mostBytes) throw lineTooLong()
    if (lines !== undefined) yield* batchesOf(lines, mostBytes, turns)
  }
  yield* batchesOf(begun.take(), mostBytes, turns)
}

async function* batchesOf(
  lines: Uint8Array,
  mostBytes: number,
  turns: Turns,
): AsyncGenerator<readonly unknown[]> {
  for (let [from, to] = [0, 0]; from < lines.length; from = to) {
    for (let left = BATCH.lines; left > 0 && to < lines.length && to - from < BATCH.bytes; left--) {
      const end = lines.indexOf(NEW_LINE, to)
      to = end < 0 ? lines.length : end + 1
    }
    await turns.next(to - from)
    yield valuesOf(lines.subarray(from, to), mostBytes)
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
