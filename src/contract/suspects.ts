import type { RunRecord } from './records.ts'

/** A group of suspects is halved with each death, so often at least: then there are few that are executed alone. */
const LEAST_DEATHS = 4

/** So many deaths in a row make a run one that is executed alone. */
export function trialAt(maxInterruptions: number): number {
  return Math.max(LEAST_DEATHS, maxInterruptions)
}

/** How many suspects one engine may execute at once, to begin one with so many deaths in a row. */
export function mostSuspects(deaths: number, maxInterruptions: number): number {
  return 2 ** (trialAt(maxInterruptions) - deaths)
}

/** Deaths in a row of a run without a living owner. Only one while executing counts; an owner that left gracefully is no longer named. */
export function deathsOf({ status, owner, interruptions }: RunRecord): number {
  return status === 'EXECUTING' && owner !== undefined ? interruptions + 1 : interruptions
}

/** Whether an `EXECUTING` run without a living owner is a suspect. */
export function isSuspect(record: RunRecord): boolean {
  return record.slot && !record.returned && deathsOf(record) > 0
}
