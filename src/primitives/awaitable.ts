/** Whether a value is a promise: asked before awaiting, so that a synchronous answer stays synchronous. */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise
}

/** Goes on with `next` at once when the value is there, else when it comes. If `next` throws, the call throws, or its promise rejects. */
export function chain<T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> {
  return isPromise(value) ? value.then(next) : next(value)
}

/** Does something, and goes on with `failed` at once when it throws, or when it rejects. */
export function rescue<T>(
  action: () => T | Promise<T>,
  failed: (error: unknown) => T | Promise<T>,
): T | Promise<T> {
  try {
    const done = action()
    return isPromise(done) ? done.catch(failed) : done
  } catch (error) {
    return failed(error)
  }
}

/** Starts an action without awaiting it. Its errors, thrown or rejected, go to `failed`. */
export function unawaited(action: () => unknown, failed: (error: unknown) => void): void {
  void rescue(action, failed)
}

/** The promise itself. If it rejects and is not awaited, the process goes on; a caller that awaits it gets the error. */
export function mayBeLeft<T>(promise: Promise<T>): Promise<T> {
  promise.catch(ignore)
  return promise
}

/**
 * The answer to a call that an attempt has out. If its function settles first, or the attempt ends, its code may have left the
 * call behind: a rejection then does not end the process, and a caller that awaits it gets it all the same.
 */
export function leftAtEnd<T>(attempt: Leaving | undefined, answer: Promise<T>): Promise<T> {
  if (attempt === undefined) return answer
  const told: Promise<T> = answer.catch((error: unknown) => {
    if (attempt.isLeft) void mayBeLeft(told)
    throw error
  })
  return told
}

/** An object with a call whose answers may be left as {@link leftAtEnd} has it, such as the `next` of an iterator. */
export function leftAtEndBy<T extends object>(attempt: Leaving | undefined, object: T, name: string): T {
  // Cast: it has such a call.
  const calls = object as Record<string, Call>
  const call = calls[name] as Call
  calls[name] = () => leftAtEnd(attempt, call.call(object))
  return object
}

type Call = () => Promise<unknown>

interface Leaving {
  readonly isLeft: boolean
}

function ignore(): void {
  // Told to a caller that awaits the promise.
}
