import type { TokenKind } from '../../contract/records.ts'
import { runIdOfToken } from '../../contract/run-states.ts'

/** A token that a run waits for. */
export interface WaitedToken {
  readonly id: string
  readonly kind: TokenKind
  readonly tags: readonly string[]
  /** The deadline in epoch milliseconds; none for the end of a run. */
  readonly timeoutAt?: number | undefined
  /** Whether the timeout is the default, so that neither the test nor the task has named it. */
  readonly isTimeoutDefault: boolean
  /** The first line of user code that led to the token: `/app/review.ts:12:30`. */
  readonly origin: string
  /** The run whose end completes the token. */
  readonly run?: WaitingRun | undefined
  /** Whether that run is left out because it waits, in turn, for the run that waits for this token. */
  readonly isCircular?: boolean
}

/** A run with all its waits. A wait graph is a list of the awaited runs. */
export interface WaitingRun {
  readonly id: string
  readonly taskId: string
  /** The first line of user code that led to the run. */
  readonly origin: string
  readonly waits: readonly WaitedToken[]
}

const LISTED_WAITS = 20

/** One line for each run and each awaited token. The indentation shows which run waits for which. */
export function renderWaitGraph(graph: readonly WaitingRun[]): string {
  const lines = graph.flatMap((run) => renderRun(run, ''))
  const more = lines.length - LISTED_WAITS
  return [...lines.slice(0, LISTED_WAITS), ...(more > 0 ? [`and ${more} more lines`] : [])].join('\n')
}

/** Runs that wait for the end of one another, in order; each is to end after the next, and the last after the first. */
export function circleIn(graph: readonly WaitingRun[]): readonly WaitingRun[] | undefined {
  for (const run of graph) {
    const circle = circleBelow(run, [])
    if (circle !== undefined) return circle
  }
  return undefined
}

function circleBelow(run: WaitingRun, above: readonly WaitingRun[]): readonly WaitingRun[] | undefined {
  const path = [...above, run]
  for (const { id, isCircular, run: awaited } of run.waits) {
    if (isCircular === true) return path.slice(path.findIndex((one) => one.id === runIdOfToken(id)))
    const circle = awaited === undefined ? undefined : circleBelow(awaited, path)
    if (circle !== undefined) return circle
  }
  return undefined
}

/** A token on one line: `waitpoint_… [tag], until 2000-01-01T00:10:00.000Z (the default), created at …`. */
export function renderWaitedToken({ id, tags, timeoutAt, isTimeoutDefault, origin }: WaitedToken): string {
  const tagged = tags.length === 0 ? '' : ` [${tags.join(', ')}]`
  const deadline = timeoutAt === undefined ? '' : `, until ${new Date(timeoutAt).toISOString()}`
  return `${id}${tagged}${deadline}${isTimeoutDefault ? ' (the default)' : ''}, created at ${origin}`
}

function renderRun({ id, taskId, origin, waits }: WaitingRun, indent: string): string[] {
  const nothing = waits.length === 0 ? ', waits for nothing' : ''
  return [
    `${indent}run ${id} of task "${taskId}", triggered at ${origin}${nothing}`,
    ...waits.flatMap((token) => {
      const awaited = runIdOfToken(token.id) ?? token.id
      if (token.isCircular === true)
        return [`${indent}  waits for the end of run ${awaited}, which waits for it`]
      if (token.run === undefined) return [`${indent}  waits for ${renderWaitedToken(token)}`]
      return [`${indent}  waits for the end of`, ...renderRun(token.run, `${indent}    `)]
    }),
  ]
}
