import type { OptionNames } from '../../primitives/require.ts'
import { requireOptions } from '../../primitives/require.ts'
import { checkKey } from '../../api/stream.ts'
import type { DefinedStream, StreamsNamespace } from '../../api/stream.ts'

const NAMES: OptionNames<{ readonly id: string }> = { id: true }

/**
 * A stream with a fixed key.
 *
 * @throws TypeError or RangeError for what is no key.
 */
export function defineStream<Chunk>(
  streams: Omit<StreamsNamespace, 'define'>,
  options: { readonly id: string },
): DefinedStream<Chunk> {
  requireOptions(options, 'the options of streams.define', NAMES)
  const { id } = options
  checkKey(id)
  return {
    id,
    pipe: (source, pipeOptions) => streams.pipe(id, source, pipeOptions),
    append: (chunk, appendOptions) => streams.append(id, chunk, appendOptions),
    read: (run, readOptions) => streams.read(run, id, readOptions),
  }
}
