import { seededRandom } from '../../clock/seeded-random.ts'
import type { ChunkRecord, RunRecord, TokenRecord } from '../../contract/records.ts'

/** A run that waits to be claimed. */
export function queuedRun(
  id: string,
  fields: Partial<RunRecord> & { readonly createdAt: number },
): RunRecord {
  return {
    id,
    taskId: 'task',
    status: 'QUEUED',
    attempt: 0,
    policyAttempt: 0,
    interruptions: 0,
    epoch: 0,
    slot: false,
    returned: false,
    rootId: id,
    tags: [],
    streams: [],
    queue: 'queue',
    updatedAt: fields.createdAt,
    ...fields,
  }
}

/** A manual token without a deadline. */
export function manualToken(
  id: string,
  fields: Partial<TokenRecord> & { readonly createdAt: number },
): TokenRecord {
  return { id, kind: 'MANUAL', status: 'WAITING', tags: [], ...fields }
}

export function chunkOf(value: unknown): ChunkRecord {
  const text = JSON.stringify(value)
  return { value, text, bytes: text.length + 8 }
}

/** A name that a database cannot make shorter. */
export function longName(length: number): string {
  const bytes = seededRandom('a long name').bytes(length)
  return String.fromCharCode(...Array.from(bytes, (byte) => 48 + (byte % 75)))
}
