/** A line of the report that a person asks for, as the README shows it. */
export interface Headline {
  readonly figure: string
  /** The line of the report. */
  readonly what: string
  /** What it is, where the line does not say all. */
  readonly says?: string
  /** What stands beside it. */
  readonly beside?: string
}

const BARE = 'a `Map`, promises and JSON'

/** What `npm run bench` measures without a name. */
export const TEN: readonly Headline[] = [
  {
    figure: 'runs',
    what: 'run with a wait, 1,000 at once',
    says: 'run with a wait, 1,000 at once, in memory',
    beside: BARE,
  },
  { figure: 'disk', what: 'run with a wait, 1,000 at once, on a SQLite file', beside: 'its statements' },
  { figure: 'postgres', what: 'run with a wait, 1,000 at once, on Postgres', beside: 'its statements' },
  {
    figure: 'resume',
    what: 'complete → next line',
    says: 'complete → next line of the task, in memory',
    beside: 'a promise',
  },
  {
    figure: 'disk',
    what: 'complete → next line of a parked run, on a SQLite file',
    beside: 'its statements',
  },
  {
    figure: 'postgres',
    what: 'completed in one process → next line in another',
    says: 'completed in one process → next line in another, on Postgres',
  },
  {
    figure: 'parked',
    what: 'heap of a run among 1,000,000',
    says: 'heap of a parked run, among 1,000,000',
    beside: 'a suspended function and two records',
  },
  {
    figure: 'restart',
    what: 'start-up with 100,000 parked runs and tokens, to the result of a new run',
    says: 'start with 100,000 parked runs in a SQLite file',
  },
  { figure: 'http', what: 'token completed over HTTP', beside: 'a hono handler, bare' },
  {
    figure: 'told',
    what: 'slowest list, in another process on Postgres, p95',
    says: 'change in one process → list or page of another, on Postgres, the slowest of seven, p95',
  },
]

/** What the README shows: the peers, and what takes long, too. */
export const TWENTY: readonly Headline[] = [
  ...TEN,
  ...[
    'Effect, in memory',
    'OpenWorkflow, SQLite file',
    'DBOS, Postgres',
    'pg-boss, Postgres',
    'Graphile Worker, Postgres',
  ].map((peer) => ({
    figure: 'peers',
    what: `run with a wait, 1,000 at once, beside ${peer}`,
    says: 'run with a wait, 1,000 at once',
    beside: peer,
  })),
  { figure: 'schedules', what: 'schedule of an approval, explored', beside: 'its loop, without an engine' },
  {
    figure: 'readers',
    what: 'chunk to one of 10 subscribers, beside tee()',
    says: 'chunk to one of 10 subscribers',
    beside: '`ReadableStream.tee()`',
  },
  { figure: 'http', what: 'chunk → subscriber over HTTP', beside: 'text written to it' },
  {
    figure: 'virtual-time',
    what: "run that times out after 30 days, beside vitest's fake timers",
    says: 'run that times out after 30 days, in virtual time',
    beside: "vitest's fake timers, which only sleep",
  },
  {
    figure: 'start-up',
    what: "import 'waitpoint'",
    says: "`import 'waitpoint'` in a new process",
    beside: 'an empty module',
  },
]

/** Whether a line of a figure is one that `npm run bench` prints. */
export function isHeadline(figure: string, what: string): boolean {
  return TEN.some((headline) => headline.figure === figure && headline.what === what)
}
