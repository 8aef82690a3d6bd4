import { show } from '../../primitives/require.ts'

/**
 * A goal for `until`: a promise, a run, or a condition. A condition is checked after every step; one that answers with
 * a promise whenever all code is at rest.
 */
export type Goal<T> = PromiseLike<T> | { outcome(): PromiseLike<T> } | (() => T | PromiseLike<T>)

/** A goal that is observed. */
export interface WatchedGoal<T> {
  /** Whether the promise has settled, or the condition is truthy. */
  readonly isMet: () => boolean
  /** Checks a condition that answers with a promise, unless it still does. */
  readonly ask: () => void
  /** Whether such a condition has not answered yet. */
  readonly isAsked: () => boolean
  /** The result of a goal that is met. Throws the rejection of the promise. */
  readonly read: () => T
}

type State<T> =
  | { readonly status: 'open' }
  | { readonly status: 'fulfilled'; readonly value: T }
  | { readonly status: 'rejected'; readonly reason: unknown }

/** @param onSettled Called when a promise of the goal has settled. */
export function watchGoal<T>(goal: Goal<T>, onSettled: () => void): WatchedGoal<T> {
  if (!isGoal(goal))
    throw new TypeError(`Cannot wait until ${show(goal)}: give a promise, a run, or a condition`)
  let state: State<T> = { status: 'open' }
  let isAsync = false
  let isAsked = false
  const settle = (settled: State<T>): void => {
    isAsked = false
    state = settled
    onSettled()
  }
  const reject = (reason: unknown): void => settle({ status: 'rejected', reason })
  const answered = (value: T): void => settle(value ? { status: 'fulfilled', value } : state)
  if (typeof goal !== 'function') {
    const promise = 'outcome' in goal ? goal.outcome() : goal
    promise.then((value) => settle({ status: 'fulfilled', value }), reject)
  }
  const check = (): void => {
    if (state.status !== 'open' || typeof goal !== 'function' || isAsked) return
    const answer = goal()
    if (isThenable(answer)) {
      isAsync = isAsked = true
      answer.then(answered, reject)
    } else if (answer) state = { status: 'fulfilled', value: answer }
  }
  return {
    isMet() {
      // Each call of an engine is a sign of life: a condition that makes one at every step would keep code from resting.
      if (!isAsync) check()
      return state.status !== 'open'
    },
    ask() {
      if (isAsync) check()
    },
    isAsked: () => isAsked,
    read() {
      if (state.status === 'fulfilled') return state.value
      throw state.status === 'rejected' ? state.reason : new Error('Cannot read the goal: it is not met')
    },
  }
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function'
}

function isGoal(goal: unknown): boolean {
  if (typeof goal === 'function') return true
  if (typeof goal !== 'object' || goal === null) return false
  const { outcome, then } = goal as { readonly outcome?: unknown; readonly then?: unknown }
  return typeof outcome === 'function' || typeof then === 'function'
}
