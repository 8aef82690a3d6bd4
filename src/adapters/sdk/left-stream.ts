import { callingRun, type RunPlace } from '../../api/run-place.ts'
import { runs } from '../../core/ambient/ambient.ts'
import { leftAtEndBy } from '../../primitives/awaitable.ts'

interface Iterating {
  /** A reader that leaves early does not cancel the stream. */
  readonly preventCancel?: boolean
}

/**
 * The stream itself. If a run has it, its code may leave a read behind when its attempt ends: a rejection then does not end the process,
 * and code that awaits it gets it all the same. So it is for readers, iterators and the branches of `tee`.
 */
export function leavableStream<Chunk>(stream: ReadableStream<Chunk>): ReadableStream<Chunk> {
  const place = callingRun(runs)
  return place === undefined ? stream : ofRun(place, stream)
}

function ofRun<Chunk>(place: RunPlace, stream: ReadableStream<Chunk>): ReadableStream<Chunk> {
  const open = stream.getReader.bind(stream) as () => ReadableStreamDefaultReader<Chunk>
  const tee = stream.tee.bind(stream)
  const getReader = (): ReadableStreamDefaultReader<Chunk> => leftAtEndBy(place, open(), 'read')
  const values = (options?: Iterating): AsyncGenerator<Chunk> =>
    leftAtEndBy(place, chunksOf(getReader(), options), 'next')
  return Object.assign(stream, {
    getReader,
    values,
    [Symbol.asyncIterator]: values,
    tee: () => tee().map((branch) => ofRun(place, branch)),
  })
}

async function* chunksOf<Chunk>(
  reader: ReadableStreamDefaultReader<Chunk>,
  { preventCancel = false }: Iterating = {},
): AsyncGenerator<Chunk> {
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    const canceled = preventCancel ? undefined : reader.cancel()
    reader.releaseLock()
    await canceled
  }
}
