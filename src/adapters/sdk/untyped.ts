/**
 * A value of which the published types say nothing, such as the output of a task that is triggered by an untyped id. Task
 * files read it without a check, so that `unknown` would not compile.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- files that compile against the published types compile here
export type Untyped = any

/** A JSON value, as metadata has it. */
export type Json = string | number | boolean | null | { [key: string]: Json } | Json[]
