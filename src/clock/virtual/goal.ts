import { show } from '../../primitives/require.ts'

/** A goal for `until`: a promise, a run, or a condition, which is checked after every step. */
export type Goal<T> = PromiseLike<T> | { outcome(): PromiseLike<T> } | (() => T)

/** A goal that is observed. */
export interface WatchedGoal<T> {
  /** Whether the promise has settled, or the condition is truthy. */
  readonly isMet: () => boolean
  /** The result of a goal that is met. Throws the rejection of the promise. */
  readonly read: () => T
}

type State<T> =
  | { readonly status: 'open' }
  | { readonly status: 'fulfilled'; readonly value: T }
  | { readonly status: 'rejected'; readonly reason: unknown }

/** @param onSettled Called when the goal is a promise and has settled. */
export function watchGoal<T>(goal: Goal<T>, onSettled: () => void): WatchedGoal<T> {
  if (!isGoal(goal))
    throw new TypeError(`Cannot wait until ${show(goal)}: give a promise, a run, or a condition`)
  let state: State<T> = { status: 'open' }
  const settle = (settled: State<T>): void => {
    state = settled
    onSettled()
  }
  if (typeof goal !== 'function') {
    const promise = 'outcome' in goal ? goal.outcome() : goal
    promise.then(
      (value) => settle({ status: 'fulfilled', value }),
      (reason: unknown) => settle({ status: 'rejected', reason }),
    )
  }
  return {
    isMet() {
      if (state.status !== 'open' || typeof goal !== 'function') return state.status !== 'open'
      const value = goal()
      if (value) state = { status: 'fulfilled', value }
      return state.status !== 'open'
    },
    read() {
      if (state.status === 'fulfilled') return state.value
      throw state.status === 'rejected' ? state.reason : new Error('Cannot read the goal: it is not met')
    },
  }
}

function isGoal(goal: unknown): boolean {
  if (typeof goal === 'function') return true
  if (typeof goal !== 'object' || goal === null) return false
  const { outcome, then } = goal as { readonly outcome?: unknown; readonly then?: unknown }
  return typeof outcome === 'function' || typeof then === 'function'
}
