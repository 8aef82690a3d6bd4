import { STORAGE_CALLS } from '../../../../src/contract/storage.ts'
import { withOperations } from '../../../../src/testing/storages/wrapped.ts'
import { brokenAddedChunks } from './added-chunks.ts'
import { brokenAsked } from './asked.ts'
import { brokenAttempts } from './attempts.ts'
import type { Break, BrokenStorage } from './broken-storage.ts'
import { brokenChunks } from './chunks.ts'
import { brokenClaims } from './claims.ts'
import { brokenCounts } from './counts.ts'
import { brokenFreedKeys } from './freed-keys.ts'
import { brokenInserts } from './inserts.ts'
import { brokenLimits } from './limits.ts'
import { brokenLists } from './lists.ts'
import { brokenMarks } from './marks.ts'
import { brokenOwners, brokenTicks } from './owners.ts'
import { brokenSuspects } from './suspects.ts'
import { brokenPriorities } from './priorities.ts'
import { brokenHints, brokenPrunes } from './prunes-and-hints.ts'
import { brokenCrashes, brokenHistories, brokenOverlaps, brokenSkews } from './races.ts'
import { brokenQueues } from './queues.ts'
import { brokenPushes } from './pushes.ts'
import { brokenQuestions } from './questions.ts'
import { brokenRates } from './rates.ts'
import { brokenRuns } from './runs.ts'
import { brokenSchedules } from './schedules.ts'
import { brokenTexts } from './texts.ts'
import { brokenTokens } from './tokens.ts'
import { brokenValues } from './values.ts'
import { brokenVersions } from './versions.ts'

const breaks: Readonly<Record<string, Break>> = {
  ...brokenInserts,
  ...brokenClaims,
  ...brokenPushes,
  ...brokenFreedKeys,
  ...brokenMarks,
  ...brokenTokens,
  ...brokenQuestions,
  ...brokenLists,
  ...brokenRuns,
  ...brokenAsked,
  ...brokenVersions,
  ...brokenAttempts,
  ...brokenOwners,
  ...brokenSuspects,
  ...brokenTicks,
  ...brokenChunks,
  ...brokenAddedChunks,
  ...brokenPrunes,
  ...brokenHints,
  ...brokenPriorities,
  ...brokenCounts,
  ...brokenSchedules,
  ...brokenQueues,
  ...brokenRates,
  ...brokenLimits,
  ...brokenTexts,
  ...brokenValues,
  ...brokenSkews,
  ...brokenHistories,
  ...brokenOverlaps,
}

/** For a law a storage that breaks it and, of the laws before it, none. */
export const brokenStorages: Readonly<Record<string, BrokenStorage>> = {
  ...Object.fromEntries(Object.entries(breaks).map(([id, one]) => [id, { breaks: one }])),
  ...brokenCrashes,
}

/** The storage that breaks a law. For a law of a call without one of its own: a storage in which this call does nothing. */
export function brokenStorageOf(law: string): BrokenStorage | undefined {
  const [call = ''] = law.split('/')
  const silent: Break = (memory) => withOperations(memory, { [call]: () => undefined })
  return brokenStorages[law] ?? (call in STORAGE_CALLS ? { breaks: silent } : undefined)
}
