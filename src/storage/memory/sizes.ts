import { type EndedEntry, RunEntry } from './entries.ts'

/** What a record, its entry and its places in indexes take, without its texts. */
const RUN_BYTES = 1_000
const TOKEN_BYTES = 500
const TAG_BYTES = 100
const WRITER_BYTES = 200

/** Estimates the memory of an ended record: the texts it has, at a byte for each character, and the chunks that are kept. */
export function sizeOf(entry: EndedEntry): number {
  if (!(entry instanceof RunEntry)) {
    const { outputJson, questionJson, answeredJson, tags } = entry.record
    const bytes = TOKEN_BYTES + lengthOf(outputJson) + lengthOf(questionJson)
    return bytes + lengthOf(answeredJson) + tags.length * TAG_BYTES
  }
  const { payloadJson, outputJson, errorJson, attemptsJson, metadataJson, tags } = entry.record
  let bytes = RUN_BYTES + lengthOf(payloadJson) + lengthOf(outputJson) + lengthOf(errorJson)
  bytes += lengthOf(attemptsJson) + lengthOf(metadataJson) + tags.length * TAG_BYTES
  if (entry.streams === undefined) return bytes
  for (const { ring, writers } of entry.streams.values())
    bytes += (ring?.bytes ?? 0) + (writers?.size ?? 0) * WRITER_BYTES
  return bytes
}

function lengthOf(text: string | undefined): number {
  return text?.length ?? 0
}
