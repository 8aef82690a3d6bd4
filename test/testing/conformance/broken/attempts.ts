import type { Break } from './broken-storage.ts'
import { claimedLike } from './claims.ts'
import { updatingLike } from './runs.ts'

export const brokenAttempts: Readonly<Record<string, Break>> = {
  'runs.update/changes-the-attempts': updatingLike(({ change: { attemptsJson: _, ...change } }) => ({
    change,
  })),
  'runs/answers-the-attempts': claimedLike(({ runs }) => ({
    runs: runs.map(({ attemptsJson: _, ...run }) => run),
  })),
}
