import type { Hint, Unsubscribe } from '../../contract/storage.ts'
import { HintBoard } from '../hint-board.ts'
import { afterReal } from '../real-timer.ts'
import { type ClaimableRun, FirstClaimers } from './first-claimers.ts'
import { LateClaims } from './late-claims.ts'

/**
 * A hint for other processes. `queue`, `run`, `token`, `stream` and `any` name the owner that need not be told; `waits` names an owner,
 * followed by the runs of the waits, if they are known. `queue` may go on with a new run and the owner that is to claim it
 * first, alone or as the last of many, or with a queue that has got a limit; `run` with what is known of the change, and with the task of a run
 * that was claimed.
 */
export type FarHint = readonly [topic: Hint['topic'], ...rest: readonly (string | null)[]]

/** What a hint may say of the change of a run: it goes on, claimed by an owner or otherwise. */
const CLAIMED = 'claimed'
const GOES_ON = 'goes on'
/** What `queue` may say of its run: there are more before it. */
const LAST = 'last'
/** So many new runs of one turn are called for one by one. */
const FEW = 16
/** So many are for one owner together, those of each task: an engine claims no more at once. More are for all. */
const MANY = 256
/** Changes of tokens wait so long for a message that is sent anyhow: a run that waits for a token it has made tells both at once. */
const TOKENS_MS = 20

interface NewRun {
  readonly run: ClaimableRun
  readonly by: string | undefined
}

/** Collects hints. Those of a change made by `by` go to all other owners. */
export interface HintCollector {
  /** There is something to claim; `run`: a new run, and nothing else. */
  queue(by: string | undefined, run?: ClaimableRun): void
  /** A run was claimed. */
  claimed(run: ClaimableRun, by: string): void
  /** A claim of `owner` has left something to claim. */
  left(owner: string): void
  /** A claim of `owner` is asked. What is to be called when it is answered: `mayHaveMore` if there may be runs that it has left. */
  asking(owner: string): (mayHaveMore: boolean) => void
  run(runId: string, by: string | undefined, goesOn?: boolean): void
  stream(runId: string, key: string, by: string | undefined): void
  /** A manual token was created or settled. */
  token(by: string | undefined): void
  /** Waits of `owner` became ready: of this run, or else it is to look for itself. */
  waits(owner: string, by: string | undefined, runId?: string): void
  /** A slot of a queue was given back. */
  freed(queue: string, by: string | undefined): void
  /** Something was set of a queue. */
  limited(queue: string, by: string): void
  /** Schedules were changed. */
  all(by: string): void
}

/** Reports committed changes: to the engines of this process at once, to others by messages. */
export class PostgresHints implements HintCollector {
  readonly #board = new HintBoard()
  readonly #sendFar: (hints: readonly FarHint[]) => void
  readonly #limited = new Set<string>()
  #far = new Map<string, FarHint>()
  /** Runs of this turn that can be claimed. */
  #newRuns: NewRun[] = []
  /** Owners of this process that are to claim many runs, before others do. */
  readonly #called = new Set<string>()
  /** Those that have changed tokens, which other processes are not told yet. */
  readonly #changers = new Set<string | undefined>()
  #cancelTokens: (() => void) | undefined
  #hasClaimed = false
  #isPlanned = false
  #subscribers = new Map<string, number>()
  readonly #claimers = new FirstClaimers()
  readonly #late: LateClaims

  /**
   * @param sendFar Tells other processes.
   * @param spread From 0 to 1: how late this process is where others come first.
   */
  constructor(sendFar: (hints: readonly FarHint[]) => void, spread: () => number) {
    this.#sendFar = sendFar
    this.#late = new LateClaims(() => {
      this.#board.queue(undefined)
      this.#board.flush()
    }, spread)
  }

  subscribe(owner: string, listener: (hint: Hint) => void): Unsubscribe {
    const unsubscribe = this.#board.subscribe(owner, listener)
    this.#subscribers.set(owner, (this.#subscribers.get(owner) ?? 0) + 1)
    let isOver = false
    return () => {
      unsubscribe()
      if (isOver) return
      isOver = true
      const left = (this.#subscribers.get(owner) ?? 0) - 1
      if (left > 0) {
        this.#subscribers.set(owner, left)
        return
      }
      this.#subscribers.delete(owner)
      this.#called.delete(owner)
    }
  }

  queue(by: string | undefined, run?: ClaimableRun): void {
    this.#board.queue(by)
    if (run === undefined) this.#tellFar(['queue', by ?? null])
    else {
      this.#board.created(run.id, by)
      this.#newRuns.push({ run, by })
      this.#plan()
    }
  }

  claimed(run: ClaimableRun, by: string): void {
    this.#late.claimed(run.id)
    this.#claimers.claimed(run, by)
    this.#board.run(run.id, by, true)
    this.#tellFar(['run', run.id, by, CLAIMED, run.taskId])
  }

  left(owner: string): void {
    this.#board.left(owner)
    this.#plan()
  }

  asking(owner: string): (mayHaveMore: boolean) => void {
    // A claim that is out when its owner is called has not seen those runs.
    const isCalled = this.#called.has(owner)
    return (mayHaveMore) => {
      if (!isCalled) return
      this.#called.delete(owner)
      // They are for others.
      if (mayHaveMore) this.queue(owner)
    }
  }

  run(runId: string, by: string | undefined, goesOn = false): void {
    this.#board.run(runId, by, goesOn)
    this.#tellFar(['run', runId, by ?? null, ...(goesOn ? [GOES_ON] : [])])
  }

  stream(runId: string, key: string, by: string | undefined): void {
    this.#board.stream(runId, key, by)
    this.#tellFar(['stream', runId, key, by ?? null])
  }

  token(by: string | undefined): void {
    this.#board.token(by)
    this.#changers.add(by)
    this.#cancelTokens ??= afterReal(TOKENS_MS, () => this.tellTokens())
    this.#plan()
  }

  /** Tells other processes of tokens now: the engine that has changed them may leave. */
  tellTokens(): void {
    if (this.#changers.size > 0) this.#tell()
  }

  waits(owner: string, by: string | undefined, runId?: string): void {
    if (owner === by) return
    this.#board.waits(owner, by, runId)
    if (this.#subscribers.has(owner)) this.#plan()
    else this.#tellFar(runId === undefined ? ['waits', owner] : ['waits', owner, runId])
  }

  limited(queue: string, by: string): void {
    this.#limited.add(queue)
    this.#board.queue(by)
    this.#tellFar(['queue', by, null, null, queue])
  }

  all(by: string): void {
    this.#board.all(by)
    this.#tellFar(['any', by])
  }

  /** Matters if the queue has a limit, as far as engines of this process know. */
  freed(queue: string, by: string | undefined): void {
    if (!this.#hasClaimed || this.#limited.has(queue)) this.queue(by)
  }

  /** Notes queues that have a limit, as a claim or a resume reported them. */
  learnLimits(queues: Iterable<string>): void {
    this.#hasClaimed = true
    for (const queue of queues) this.#limited.add(queue)
  }

  /** Passes on the hints of another process. */
  hear(hints: readonly FarHint[]): void {
    for (const hint of hints) this.#hearOne(hint)
    this.#board.flush()
  }

  /** The owners of this process. */
  get owners(): string[] {
    return [...this.#subscribers.keys()]
  }

  /** Messages may have been lost: all engines here look at everything. */
  stir(): void {
    for (const owner of this.#subscribers.keys()) this.#board.any(owner)
    this.#board.flush()
  }

  #hearOne(hint: FarHint): void {
    const [topic, first, second, third] = hint
    const name = first ?? ''
    switch (topic) {
      case 'queue':
        return this.#hearQueue(hint)
      case 'run':
        return this.#hearRun(hint)
      case 'token':
        return this.#board.token(first ?? undefined)
      case 'stream':
        return this.#board.stream(name, second ?? '', third ?? undefined)
      case 'waits':
        return this.#hearWaits(hint)
      case 'any':
        return this.#board.all(first ?? undefined)
    }
  }

  #hearQueue([, by, runId, first, limited, place]: FarHint): void {
    if (typeof limited === 'string') this.#limited.add(limited)
    if (typeof runId === 'string')
      this.#board.created(runId, by ?? undefined, place === LAST ? 'one of many' : true)
    if (typeof runId !== 'string' || typeof first !== 'string') return this.#board.queue(by ?? undefined)
    if (place === LAST && this.#subscribers.has(first)) this.#called.add(first)
    this.#board.left(first)
    this.#late.await(runId)
  }

  #hearRun([, runId, by, news, taskId]: FarHint): void {
    const id = runId ?? ''
    if (news === CLAIMED) {
      this.#late.claimed(id)
      if (typeof by === 'string' && typeof taskId === 'string') this.#claimers.claimed({ id, taskId }, by)
    }
    this.#board.run(id, by ?? undefined, news === CLAIMED || news === GOES_ON)
  }

  #hearWaits([, owner, ...runIds]: FarHint): void {
    if (runIds.length === 0) this.#board.waits(owner ?? '', undefined)
    for (const runId of runIds) this.#board.waits(owner ?? '', undefined, runId ?? undefined)
  }

  #tellFar(hint: FarHint): void {
    this.#note(hint)
    this.#plan()
  }

  #note(hint: FarHint): void {
    this.#far.set(hint.join('\n'), hint)
  }

  #callClaimers(): void {
    const newRuns = this.#newRuns
    this.#newRuns = []
    if (newRuns.length > FEW) this.#callTogether(newRuns)
    else for (const one of newRuns) this.#note(hintOf(one, this.#claimers.callFor(one.run, one.by ?? null)))
  }

  /**
   * Many are for all, and others for one owner of their task together. It is not the one that has made them: that one has claimed those that it
   * has room for with their inserts, and would keep the others waiting.
   */
  #callTogether(newRuns: readonly NewRun[]): void {
    for (const one of lastOfEachTask(newRuns)) {
      const first = newRuns.length > MANY ? undefined : this.#claimers.callFor(one.run, null)
      this.#note(hintOf(one, first === one.by ? undefined : first, null, LAST))
    }
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    void Promise.resolve().then(() => {
      this.#isPlanned = false
      if (this.#newRuns.length > 0) this.#callClaimers()
      if (this.#far.size > 0) this.#tell()
      this.#board.flush()
    })
  }

  #tell(): void {
    this.#cancelTokens?.()
    this.#cancelTokens = undefined
    for (const by of this.#changers) this.#note(['token', by ?? null])
    this.#changers.clear()
    const far = this.#far
    this.#far = new Map()
    this.#sendFar([...far.values()])
  }
}

/** `first`: the owner that is to claim the run before others do. */
function hintOf(
  { run, by }: NewRun,
  first: string | undefined,
  ...place: readonly (string | null)[]
): FarHint {
  return ['queue', by ?? null, run.id, first ?? null, ...place]
}

/** Of the runs of each task that an owner has made, the one that is claimed last. */
function lastOfEachTask(newRuns: readonly NewRun[]): Iterable<NewRun> {
  const last = new Map<string, NewRun>()
  for (const one of newRuns) {
    const task = JSON.stringify([one.by, one.run.taskId])
    const other = last.get(task)
    if (other === undefined || placeInLine(one) >= placeInLine(other)) last.set(task, one)
  }
  return last.values()
}

function placeInLine({ run: { createdAt = 0, priorityMs = 0 } }: NewRun): number {
  return createdAt - priorityMs
}
