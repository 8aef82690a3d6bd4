import { StuckError, VirtualTimeoutError } from '../../clock/virtual/errors.ts'
import { renderWaitGraph } from '../../clock/virtual/wait-graph.ts'
import { inside } from '../../core/inside.ts'
import type { Run } from '../../api/run.ts'
import type { TokenReference } from '../../api/token.ts'
import { parseDuration } from '../../primitives/duration.ts'
import { idOf, show } from '../../primitives/require.ts'
import { spell } from '../exploration/spell.ts'
import type { TestEngine } from '../fixture/test-engine.ts'
import { toldOf } from '../fixture/on-await.ts'
import { runUnderTest } from '../fixture/under-test.ts'

/** The result of a matcher. Its message is read when the written expectation has failed. */
export interface Matched {
  readonly pass: boolean
  readonly message: () => string
  readonly actual?: unknown
  readonly expected?: unknown
}

/** The interface that a test runner gives to matchers. */
export interface MatcherContext {
  readonly equals: (one: unknown, other: unknown) => boolean
  /** Whether the test expects the opposite. */
  readonly isNot?: boolean
}

const MOST_CHUNKS = 100_000

/** `expect(run).toBeWaitingFor(token)`: at rest, the run waits for this token. Time does not move. */
export async function toBeWaitingFor(subject: unknown, token: TokenReference): Promise<Matched> {
  const { run, t } = runUnderTest(subject)
  const tokenId = idOf(token)
  toldOf(token)
  if (typeof tokenId !== 'string')
    throw new TypeError(
      `Cannot use ${show(token)} as a token: give its id, or the token that \`await t.waitingToken(…)\` returns`,
    )
  const { status, waitingOn } = await atRest(t, run.id, () => t.engine.runs.retrieve(run.id))
  const ids = waitingOn.map((waited) => waited.id)
  const pass = ids.includes(tokenId)
  const found = ids.length === 0 ? `it is ${status} and waits for nothing` : `it waits for ${ids.join(', ')}`
  return { pass, message: () => `Expected run "${run.id}"${not(pass)} to wait for "${tokenId}": ${found}` }
}

/**
 * `expect(run).toTimeOutIn('24h')`: at rest, the first timeout among the waits of the run comes after exactly this
 * duration. Time does not move.
 */
export async function toTimeOutIn(subject: unknown, duration: number | string): Promise<Matched> {
  const ms = parseDuration(duration, 'duration')
  const { run, t } = runUnderTest(subject)
  const { status, waitingOn } = await atRest(t, run.id, () => t.engine.runs.retrieve(run.id))
  const timeouts = waitingOn.flatMap(({ kind, timeoutAt }) =>
    kind === 'MANUAL' && timeoutAt !== undefined ? [timeoutAt.getTime() - t.clock.now()] : [],
  )
  const first = timeouts.length === 0 ? undefined : Math.min(...timeouts)
  const pass = first === ms
  const found = first === undefined ? `it is ${status} and waits for no token` : `it does in ${spell(first)}`
  return {
    pass,
    message: () => `Expected run "${run.id}"${not(pass)} to time out in ${show(duration)}: ${found}`,
  }
}

/**
 * `expect(run).toFinishWithin('5m')`: moves time on until the run has ended, with any outcome, by at most this
 * duration.
 */
export async function toFinishWithin(subject: unknown, duration: number | string): Promise<Matched> {
  const { run, t } = runUnderTest(subject)
  const from = t.clock.now()
  try {
    await untilEnded(t, run.id, t.clock.now() + parseDuration(duration, 'duration'))
    const passedMs = t.clock.now() - from
    return {
      pass: true,
      message: () =>
        `Expected run "${run.id}" not to finish within ${show(duration)}: it did after ${spell(passedMs)}`,
    }
  } catch (error) {
    if (!(error instanceof VirtualTimeoutError || error instanceof StuckError)) throw error
    return {
      pass: false,
      message: () =>
        `Expected run "${run.id}" to finish within ${show(duration)}: it did not. ${error.message}`,
    }
  }
}

/** `expect(run).toHaveEmitted('draft', ['a', 'b'])`: at rest, the stream has exactly these chunks so far, in order. */
export async function toHaveEmitted(
  this: MatcherContext,
  subject: unknown,
  ...[stream, chunks]: readonly [stream: string | { readonly id: string }, chunks: readonly unknown[]]
): Promise<Matched> {
  const { run, t } = runUnderTest(subject)
  const key = String(idOf(stream))
  const { storage } = inside(t.engine).host
  const read = await atRest(t, run.id, async () =>
    storage.chunks.read({ runId: run.id, key, from: 0, limit: MOST_CHUNKS }),
  )
  const actual = read?.chunks.map(({ value }) => value) ?? []
  const pass = this.equals(actual, chunks)
  const found = read === undefined ? 'the run has no such stream' : `it emitted ${JSON.stringify(actual)}`
  return {
    pass,
    message: () =>
      `Expected run "${run.id}"${not(pass)} to have emitted ${JSON.stringify(chunks)} on "${key}": ${found}`,
    actual,
    expected: chunks,
  }
}

/**
 * `expect(run).toBeStuck()`: moves time on, and expects that the run never ends for want of an answer. With `not` time does not
 * move: at rest, the run has ended, or waits for time to pass or for a token that was given a time-out.
 */
export async function toBeStuck(this: MatcherContext, subject: unknown): Promise<Matched> {
  const { run, t, unanswered } = runUnderTest(subject)
  if (this.isNot === true) {
    const waiting = await atRest(t, run.id, async () => unanswered(run.id))
    const why = waiting === undefined ? '' : `\n${renderWaitGraph([waiting])}`
    return {
      pass: waiting !== undefined,
      message: () =>
        `Expected run "${run.id}" not to be stuck: only an answer that the test has to give can end it${why}`,
    }
  }
  try {
    const { status } = await untilEnded(t, run.id, Infinity)
    return {
      pass: false,
      message: () => `Expected run "${run.id}" to be stuck: it is ${status}`,
    }
  } catch (error) {
    if (!(error instanceof StuckError)) throw error
    return { pass: true, message: () => `Expected run "${run.id}" not to be stuck. ${error.message}` }
  }
}

/** Reads when all code is at rest. A matcher that the test does not await is a loose end meanwhile. */
async function atRest<T>({ engine, clock }: TestEngine, runId: string, read: () => Promise<T>): Promise<T> {
  const watcher = inside(engine).news.watch(runId)
  try {
    await clock.settle()
    return await read()
  } finally {
    watcher.close()
  }
}

/**
 * Moves time on until the run has ended. It polls the run instead of awaiting it, because an awaited run would demand
 * that time goes on even after the matcher has given up.
 */
async function untilEnded({ engine, clock }: TestEngine, runId: string, limit: number): Promise<Run> {
  const watcher = inside(engine).news.watch(runId)
  try {
    for (;;) {
      const run = await engine.runs.retrieve(runId)
      if (run.isCompleted) return run
      const within = limit === Infinity ? undefined : limit - clock.now()
      await clock.until(() => watcher.woke(runId), { within })
    }
  } finally {
    watcher.close()
  }
}

function not(pass: boolean): string {
  return pass ? ' not' : ''
}
