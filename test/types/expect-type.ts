/** Whether two types are the same, to the modifier. */
export type Equal<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false

/** Whether a type is `any`. */
export type IsAny<T> = 0 extends 1 & T ? true : false

/**
 * Whether there is an `any` in a type: in what promises and iterables hold, in parameters, results and properties.
 * Six levels deep, as types may contain themselves.
 */
export type HasAny<T> = true extends Search<T, []> ? true : false

/** Types whose insides are not ours. */
type Foreign = string | number | boolean | bigint | symbol | Date | AbortSignal | ReadableStream

type Search<T, Depth extends readonly 0[]> =
  IsAny<T> extends true ? true : Depth['length'] extends 6 ? false : Inside<T, [...Depth, 0]>

type Inside<T, Depth extends readonly 0[]> = T extends Foreign
  ? false
  : T extends Error
    ? Search<Omit<T, keyof Error>, Depth>
    : T extends PromiseLike<infer Value>
      ? Search<Value, Depth> | Search<Omit<T, keyof Promise<unknown> | typeof Symbol.asyncIterator>, Depth>
      : T extends AsyncIterable<infer Item>
        ? Search<Item, Depth> | Search<Omit<T, typeof Symbol.asyncIterator>, Depth>
        : Plain<T, Depth>

type Plain<T, Depth extends readonly 0[]> = T extends (...parameters: infer Parameters) => infer Answer
  ? Search<Parameters[number], Depth> | Search<Answer, Depth>
  : T extends abstract new (...parameters: infer Parameters) => infer Instance
    ? Search<Parameters[number], Depth> | Search<Instance, Depth>
    : T extends readonly (infer Item)[]
      ? Search<Item, Depth>
      : T extends ReadonlyMap<infer Key, infer Value>
        ? Search<Key, Depth> | Search<Value, Depth>
        : T extends object
          ? { [Key in keyof T]: Search<T[Key], Depth> }[keyof T]
          : false

/** Compiles only for `true`. */
export function holds<_Claim extends true>(): void {
  // Types only.
}

/** Compiles only for `false`. */
export function holdsNot<_Claim extends false>(): void {
  // Types only.
}

/** `exactly<string>()(value)` compiles only if the type of `value` is `string`: neither narrower nor wider. */
export function exactly<Expected>(): <Actual>(
  value: Actual,
  ...mismatch: Equal<Actual, Expected> extends true ? [] : [never]
) => void {
  return () => undefined
}
