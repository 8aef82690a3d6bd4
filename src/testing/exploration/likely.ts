import type { Deviation } from './trace.ts'

/** Actors that are not code under test: time, and engines on their own account. */
const OTHERS: ReadonlySet<string> = new Set(['time', 'engine', 'elsewhere'])
/** What engines do for themselves, before and after the code of a task. */
const OF_ENGINES: ReadonlySet<string> = new Set([
  'runs.insert',
  'runs.park',
  'runs.resume',
  'runs.waits',
  'tokens.release',
])
/** The calls by which code looks and acts. */
const LOOKS_AND_ACTS: ReadonlySet<string> = new Set(['tokens.get', 'tokens.settle'])
const CALL = /^(?:runs|tokens|chunks|queues|schedules|settings)\.\w+$/

/**
 * How late a departure is tried among those of as many departures, from 0. Races are most often between a look and an act of
 * the code under test, in the outside world or at a token; more seldom between other calls of it, or calls that engines make
 * for themselves.
 */
export function costOf({ kind, at, take }: Deviation): number {
  return kind === 'next' ? Math.min(costOfStep(at), costOfStep(take)) : costOfStep(at)
}

/** Whether a step is a look or an act of the code under test. */
export function isLikely(label: string): boolean {
  return costOfStep(label) === 0
}

function costOfStep(label: string): 0 | 1 | 2 {
  const [, actor = '', name = ''] = /^(.*?)\/(.*)#\d+/s.exec(label) ?? []
  if (OTHERS.has(actor) || OF_ENGINES.has(name)) return 2
  return CALL.test(name) && !LOOKS_AND_ACTS.has(name) ? 1 : 0
}
