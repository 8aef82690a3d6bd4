import type { FarHint } from './postgres-news.ts'

/** A message of Postgres is shorter than 8,000 bytes. */
const LONGEST = 7_900

/** The channel of a schema. */
export function channelOf(schema: string): string {
  return `waitpoint ${schema}`
}

/** Hints as messages of a process, as few as they fit into. */
export function messagesOf(from: string, hints: readonly FarHint[]): readonly string[] {
  const messages: string[] = []
  let parts: string[] = []
  let bytes = 0
  const end = (): void => {
    if (parts.length > 0) messages.push(`[${[JSON.stringify(from), ...parts].join(',')}]`)
    parts = []
    bytes = from.length + 4
  }
  end()
  for (const part of new Set(hints.map((hint) => JSON.stringify(hint)))) {
    const size = Buffer.byteLength(part) + 1
    if (bytes + size > LONGEST) end()
    // What does not fit into any message is found by the next tick.
    if (bytes + size > LONGEST) continue
    parts.push(part)
    bytes += size
  }
  end()
  return messages
}

/** The hints of a message; none of one's own, nor of what is not a message. */
export function readMessage(message: string, own: string): readonly FarHint[] | undefined {
  try {
    const [from, ...hints] = JSON.parse(message) as readonly [string, ...FarHint[]]
    return from === own ? undefined : hints
  } catch {
    return undefined
  }
}
