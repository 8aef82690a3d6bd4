import type { FarHint } from './hints.ts'

/** A message of Postgres is shorter than 8,000 bytes. */
const LONGEST = 7_900
/** So many runs are named in one hint. */
const MOST_RUNS = 100
const MOST_OF_SENDER = 100

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
  for (const part of new Set(gathered(hints).map((hint) => JSON.stringify(hint)))) {
    const size = Buffer.byteLength(part) + 1
    if (bytes + size > LONGEST) end()
    // A hint that fits into no message is dropped: the next tick finds the change.
    if (bytes + size > LONGEST) continue
    parts.push(part)
    bytes += size
  }
  end()
  return messages
}

/** The runs of one owner that wait are one hint, or a few; none of them where it has to look for itself anyhow. */
function gathered(hints: readonly FarHint[]): readonly FarHint[] {
  const others: FarHint[] = []
  const runIds = new Map<string | null | undefined, Set<string | null>>()
  for (const hint of hints) {
    const [topic, owner, runId] = hint
    if (topic !== 'waits' || runId === undefined) others.push(hint)
    else runIds.set(owner, (runIds.get(owner) ?? new Set()).add(runId))
  }
  for (const [topic, owner] of others) if (topic === 'waits') runIds.delete(owner)
  for (const [owner = null, named] of runIds) {
    const list = [...named]
    for (let at = 0; at < list.length; at += MOST_RUNS)
      others.push(ofFitting(['waits', owner, ...list.slice(at, at + MOST_RUNS)]))
  }
  return others
}

/** Names that are too long for any message are left out: the owner looks for itself. */
function ofFitting(hint: FarHint): FarHint {
  const [, owner = null] = hint
  return Buffer.byteLength(JSON.stringify(hint)) < LONGEST - MOST_OF_SENDER ? hint : ['waits', owner]
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
