import type { TokenKind } from '../../contract/records.ts'

/** A token that a run waits for. */
export interface WaitedToken {
  readonly id: string
  readonly kind: TokenKind
  readonly tags: readonly string[]
  /** In epoch milliseconds; none for the end of a run. */
  readonly timeoutAt?: number | undefined
  /** Neither the test nor the task said when it times out. */
  readonly isTimeoutDefault: boolean
  /** The first line of user code that led to it: `/app/review.ts:12:30`. */
  readonly origin: string
  /** The run whose end it stands for. */
  readonly run?: WaitingRun | undefined
}

/** A run with all it waits for: a wait graph is a list of those that somebody waits for. */
export interface WaitingRun {
  readonly id: string
  readonly taskId: string
  /** The first line of user code that led to it. */
  readonly origin: string
  readonly waits: readonly WaitedToken[]
}

const LISTED_WAITS = 20

/** One line a run, one a token it waits for, indented by who waits for whom. */
export function renderWaitGraph(graph: readonly WaitingRun[]): string {
  const lines = graph.flatMap((run) => renderRun(run, ''))
  const more = lines.length - LISTED_WAITS
  return [...lines.slice(0, LISTED_WAITS), ...(more > 0 ? [`and ${more} more lines`] : [])].join('\n')
}

/** A token as one line: `waitpoint_… [tag], until 2000-01-01T00:10:00.000Z (the default), created at …`. */
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
      if (token.run === undefined) return [`${indent}  waits for ${renderWaitedToken(token)}`]
      return [`${indent}  waits for the end of`, ...renderRun(token.run, `${indent}    `)]
    }),
  ]
}
