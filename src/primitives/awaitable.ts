/** Whether a value is a promise: asked before awaiting, so that a synchronous answer stays synchronous. */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise
}

/** Goes on with `next` at once when the value is there, else when it comes. What throws, throws or rejects alike. */
export function chain<T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> {
  return isPromise(value) ? value.then(next) : next(value)
}

/** Does something that nobody awaits: what it throws or rejects with is told to `failed`. */
export function unawaited(action: () => unknown, failed: (error: unknown) => void): void {
  try {
    const done = action()
    if (isPromise(done)) done.catch(failed)
  } catch (error) {
    failed(error)
  }
}
