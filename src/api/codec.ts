import { requireMethods } from '../primitives/require.ts'
import type { NotedValue } from './noted-value.ts'

/**
 * Turns values into JSON with notes, and back, as the package `superjson` does: its default export is one. See
 * docs/recipes.md#values-that-are-not-json.
 *
 * A value without notes (`meta` is absent) is stored as its JSON, and is not given to `deserialize`.
 */
export interface Codec {
  /** The JSON of a value, and notes on what JSON cannot tell of it. Throws for a value that it cannot tell. */
  serialize(value: unknown): NotedValue
  /** The value that `serialize` was given. Throws for notes that it does not know. */
  deserialize(noted: NotedValue): unknown
}

/** @throws TypeError for an option that is no codec. */
export function requireCodec(codec: unknown): void {
  requireMethods(codec, 'codec', ['serialize', 'deserialize'])
}
