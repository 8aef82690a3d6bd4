import type { RunRecord, TokenKind, TokenRecord, WaitRecord } from '../../contract/records.ts'
import type { WaitedToken, WaitingRun } from '../../clock/virtual/wait-graph.ts'
import type { WitnessedDeadline } from '../../clock/virtual/witnessed.ts'
import { runIdOfToken, runTokenId } from '../../contract/run-states.ts'
import { type Deadline, DeadlineQueue } from '../../primitives/deadline-queue.ts'
import { addTo, type Few, FewMap, findItem, itemsOf, removeFrom } from '../../primitives/few.ts'
import { type Origin, Origins } from './origin.ts'

interface KnownRun {
  readonly taskId: string
  readonly origin: Origin
}

interface KnownToken {
  readonly id: string
  readonly kind: TokenKind
  readonly tags: readonly string[]
  readonly createdAt: number
  readonly timeoutAt: number | undefined
  readonly isTimeoutDefault: boolean
  readonly origin: Origin
  /** The entry among the answers that may be forgotten; only while a run waits for the token. */
  deadline?: Deadline<string> | undefined
}

/** A run that waits for a token. */
type KnownWait = Pick<WaitRecord, 'tokenId' | 'runId'>

const UNKNOWN: Origin = () => 'an unknown place'

/**
 * The knowledge of a test about one storage: the open runs and tokens, their origins, and which run waits for which
 * token. It only observes. Records from before are missing.
 */
export class Witness {
  readonly origins: Origins = new Origins()
  readonly #runs = new FewMap<KnownRun>()
  readonly #tokens = new FewMap<KnownToken>()
  /** The waits of each run, and those for each token. */
  readonly #waits = new FewMap<Few<KnownWait>>()
  readonly #waiting = new FewMap<Few<KnownWait>>()
  /** The runs whose result or changes the code of a run awaits, by that run. */
  readonly #watched = new Map<string, Set<string>>()
  /** Waiting tokens by tag. */
  readonly #tagged = new Map<string, Set<string>>()
  readonly #forgettable = new DeadlineQueue<string>()
  readonly #boundaries = new FewMap<string>()

  runCreated({ id, taskId }: RunRecord, origin: Origin): void {
    this.#runs.set(id, { taskId, origin })
  }

  runEnded(id: string): void {
    this.#runs.delete(id)
    this.#boundaries.delete(id)
    this.waitsDropped(id)
  }

  tokenCreated(record: TokenRecord, isTimeoutDefault: boolean, origin: Origin): void {
    const { id, kind, tags, createdAt, timeoutAt } = record
    this.#tokens.set(id, { id, kind, tags, createdAt, timeoutAt, isTimeoutDefault, origin })
    for (const tag of tags) add(this.#tagged, tag, id)
  }

  /** A token that waits has another deadline. */
  tokenChanged({ id, timeoutAt }: TokenRecord): void {
    const token = this.#tokens.get(id)
    if (token !== undefined) this.#tokens.set(id, { ...token, timeoutAt })
  }

  tokenSettled(id: string): void {
    const token = this.#tokens.get(id)
    if (token !== undefined) this.#answered(token)
    for (const tag of token?.tags ?? []) remove(this.#tagged, tag, id)
    this.#tokens.delete(id)
    for (const wait of itemsOf(this.#waiting.get(id))) this.#released(wait)
  }

  waitRegistered({ tokenId, runId }: KnownWait): void {
    if (this.#wait(tokenId, runId) === undefined) {
      const wait = { tokenId, runId }
      addTo(this.#waits, runId, wait)
      addTo(this.#waiting, tokenId, wait)
    }
    const token = this.#tokens.get(tokenId)
    if (token?.isTimeoutDefault !== true || token.timeoutAt === undefined) return
    token.deadline ??= this.#forgettable.add(token.timeoutAt, tokenId)
  }

  waitReleased({ tokenId, runId }: KnownWait): void {
    const wait = this.#wait(tokenId, runId)
    if (wait !== undefined) this.#released(wait)
  }

  waitsDropped(runId: string): void {
    for (const wait of itemsOf(this.#waits.get(runId))) this.#released(wait)
  }

  /** Code of a run awaits another run. Returns the end of this wait. */
  watches(runId: string, watched: string): () => void {
    add(this.#watched, runId, watched)
    return () => void remove(this.#watched, runId, watched)
  }

  /** Whether a waiting token has this tag. */
  hasToken(tag: string): boolean {
    return this.#tagged.has(tag)
  }

  /** A run made a storage call. */
  passed(runId: string, boundary: string): void {
    this.#boundaries.set(runId, boundary)
  }

  lastBoundary(runId: string): string | undefined {
    return this.#boundaries.get(runId)
  }

  /** A token that times out by `at` although a run waits for it and its timeout is only the default. */
  forgottenBy(at: number): WaitedToken | undefined {
    const earliest = this.#forgettable.peek()
    const token = earliest === undefined || earliest.at > at ? undefined : this.#tokens.get(earliest.value)
    return token === undefined ? undefined : waitedToken(token)
  }

  /** The deadlines of waiting tokens and the ends of sleeps, in order of creation. */
  *deadlines(): Generator<WitnessedDeadline> {
    for (const [, { id, createdAt, timeoutAt, origin }] of this.#tokens.entries()) {
      if (timeoutAt === undefined) continue
      yield { tokenId: id, at: timeoutAt, createdAt, whom: this.whom(id) ?? '', origin: origin() }
    }
  }

  /** An open run with all its waits, children and their waits included. */
  run(id: string): WaitingRun | undefined {
    return this.#run(id, new Set())
  }

  /** A run whose waits all need an answer that no time brings, but the default time-out; with its waits. */
  unanswered(id: string): WaitingRun | undefined {
    const run = this.run(id)
    return run !== undefined && isUnanswered(run) ? run : undefined
  }

  /** A token as the wait graph shows it, with its run if that is open. */
  token(id: string): WaitedToken {
    return this.#waited(id, new Set())
  }

  /** The text for the object of a timer: the run, or the token with the runs that wait for it. */
  whom(id: string): string | undefined {
    const run = this.#runs.get(id)
    if (run !== undefined) return `run ${id} of task "${run.taskId}", triggered at ${run.origin()}`
    const token = this.#tokens.get(id)
    if (token === undefined) return undefined
    const waiting = itemsOf(this.#waiting.get(id)).map(({ runId }) => this.#nameOf(runId))
    return `${waiting.length === 0 ? 'no run yet' : waiting.join(', ')}, created at ${token.origin()}`
  }

  #nameOf(runId: string): string {
    const run = this.#runs.get(runId)
    return run === undefined ? `run ${runId}` : `run ${runId} of task "${run.taskId}"`
  }

  #run(id: string, above: ReadonlySet<string>): WaitingRun | undefined {
    const run = this.#runs.get(id)
    if (run === undefined || above.has(id)) return undefined
    const watched = Array.from(this.#watched.get(id) ?? [], runTokenId)
    const awaited = itemsOf(this.#waits.get(id)).map(({ tokenId }) => tokenId)
    const waits = [...awaited, ...watched].map((tokenId) => this.#waited(tokenId, new Set([...above, id])))
    return { id, taskId: run.taskId, origin: run.origin(), waits }
  }

  #waited(id: string, above: ReadonlySet<string>): WaitedToken {
    const childId = runIdOfToken(id)
    const token = this.#tokens.get(id) ?? {
      id,
      kind: childId === undefined ? 'MANUAL' : 'RUN',
      tags: [],
      createdAt: 0,
      timeoutAt: undefined,
      isTimeoutDefault: false,
      origin: UNKNOWN,
    }
    if (childId !== undefined && above.has(childId)) return { ...waitedToken(token), isCircular: true }
    const run = childId === undefined ? undefined : this.#run(childId, above)
    return run === undefined ? waitedToken(token) : { ...waitedToken(token), origin: run.origin, run }
  }

  #wait(tokenId: string, runId: string): KnownWait | undefined {
    return findItem(this.#waits.get(runId), (wait) => wait.tokenId === tokenId)
  }

  #released(wait: KnownWait): void {
    removeFrom(this.#waits, wait.runId, wait)
    removeFrom(this.#waiting, wait.tokenId, wait)
    const token = this.#waiting.get(wait.tokenId) === undefined ? this.#tokens.get(wait.tokenId) : undefined
    if (token !== undefined) this.#answered(token)
  }

  /** The token no longer waits for an answer. */
  #answered(token: KnownToken): void {
    if (token.deadline !== undefined) this.#forgettable.cancel(token.deadline)
    token.deadline = undefined
  }
}

function isUnanswered({ waits }: WaitingRun): boolean {
  return waits.length > 0 && waits.every(needsAnswer)
}

function needsAnswer({ kind, timeoutAt, isTimeoutDefault, isCircular, run }: WaitedToken): boolean {
  if (kind === 'RUN') return isCircular === true || (run !== undefined && isUnanswered(run))
  return kind === 'MANUAL' && (isTimeoutDefault || timeoutAt === undefined)
}

function waitedToken({ id, kind, tags, timeoutAt, isTimeoutDefault, origin }: KnownToken): WaitedToken {
  return { id, kind, tags, timeoutAt, isTimeoutDefault, origin: origin() }
}

function add(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key)
  if (set === undefined) sets.set(key, new Set([value]))
  else set.add(value)
}

/** Removes a value. Returns whether nothing is left under `key`. */
function remove(sets: Map<string, Set<string>>, key: string, value: string): boolean {
  const set = sets.get(key)
  set?.delete(value)
  if (set === undefined || set.size > 0) return false
  sets.delete(key)
  return true
}
