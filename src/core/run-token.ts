import type { RunRecord, TokenRecord } from '../contract/records.ts'

const PREFIX = 'run:'

/** The id of the token that settles when a run ends. */
export function runTokenId(runId: string): string {
  return PREFIX + runId
}

/** The run whose end a token stands for, if it is such a token. */
export function runIdOfToken(tokenId: string): string | undefined {
  return tokenId.startsWith(PREFIX) ? tokenId.slice(PREFIX.length) : undefined
}

/** The settled token of a run that has ended. */
export function runToken({ id, createdAt, finishedAt }: RunRecord): TokenRecord {
  return {
    id: runTokenId(id),
    kind: 'RUN',
    status: 'COMPLETED',
    tags: [],
    createdAt,
    completedAt: finishedAt,
  }
}
