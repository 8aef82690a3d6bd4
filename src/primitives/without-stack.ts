/**
 * Makes what has errors without stacks. For an error that is an answer: where storage gives it, no code of the caller is on the stack,
 * and a stack takes longer than all the rest of it.
 *
 * @example
 * ```ts
 * const error = withoutStack(() => new RangeError('Cannot go on: the token has timed out'))
 * error.stack // 'RangeError: Cannot go on: the token has timed out'
 * ```
 */
export function withoutStack<Made>(make: () => Made): Made {
  const depth = Error.stackTraceLimit
  // A process with frozen intrinsics does not let it be set: then the error has its stack.
  Reflect.set(Error, 'stackTraceLimit', 0)
  try {
    return make()
  } finally {
    Reflect.set(Error, 'stackTraceLimit', depth)
  }
}
