import type { StreamSource } from '../../api/stream.ts'
import { measureJson } from '../../primitives/json.ts'
import { asJson } from './values.ts'

/** What JSON leaves of a chunk, as in the hosted service. The engine refuses bytes, and what is no JSON at all. */
export function jsonChunk(chunk: unknown): unknown {
  if (ArrayBuffer.isView(chunk) || measureJson(chunk) >= 0) return chunk
  try {
    return asJson(chunk)
  } catch {
    return chunk
  }
}

/** A source whose chunks are {@link jsonChunk}; in all else it is the source that was given. */
export function jsonSource<Chunk>(source: StreamSource<Chunk>): StreamSource<Chunk> {
  // The engine refuses what is no source.
  if (typeof source !== 'object' || (source as object | null) === null) return source
  return changing(source, ['getReader', Symbol.asyncIterator], (reader) =>
    changing(reader as object, ['read', 'next'], async (asked) => {
      const step = (await asked) as IteratorResult<unknown>
      return step.done === true ? step : { done: false, value: jsonChunk(step.value) }
    }),
  )
}

/** An object of which some methods answer what `change` makes of their answer. */
function changing<Given extends object>(
  given: Given,
  names: readonly (string | symbol)[],
  change: (answer: unknown) => unknown,
): Given {
  // An object of its own: of one that is frozen a proxy has to answer what it has.
  return new Proxy(Object.create(given) as Given, {
    get: (_, name) => {
      const value: unknown = Reflect.get(given, name)
      if (typeof value !== 'function') return value
      return names.includes(name) ? () => change(value.call(given)) : (value.bind(given) as unknown)
    },
  })
}
