import type { StreamSource } from '../../api/stream.ts'

/** Any source, read one chunk at a time. */
export interface SourceReader {
  next(): Promise<IteratorResult<unknown>>
  /** Tells the source that it is not read on, even while a `next()` is out. Never throws. */
  stop(): void
}

/** @throws TypeError for a value that is no source. */
export function checkSource(source: unknown): asserts source is StreamSource<unknown> {
  const isObject = typeof source === 'object' && source !== null
  if (isObject && (isWebStream(source) || Symbol.asyncIterator in source)) return
  throw new TypeError(
    'Cannot read the source of a stream: give an async iterable, a web ReadableStream or a Node Readable',
  )
}

/**
 * Takes a source for reading.
 *
 * @throws TypeError for a value that is no source, or is read by another reader.
 */
export function readSource(source: StreamSource<unknown>): SourceReader {
  checkSource(source)
  // Not its iterator, which is told to stop only once the chunk that is out has come.
  return isWebStream(source) ? webReader(source.getReader()) : iteratorReader(source)
}

function isWebStream(source: object): source is ReadableStream<unknown> {
  return 'getReader' in source && typeof source.getReader === 'function'
}

function webReader(reader: ReadableStreamDefaultReader<unknown>): SourceReader {
  return {
    next: () => reader.read() as Promise<IteratorResult<unknown>>,
    stop: () => quietly(() => reader.cancel()),
  }
}

function iteratorReader(source: AsyncIterable<unknown>): SourceReader {
  // A Node stream may fail before its first chunk is asked for. Its iterator then throws the error, but listens only from then on.
  if (isEmitter(source)) source.on('error', heard)
  const iterator = source[Symbol.asyncIterator]()
  return {
    next: () => iterator.next(),
    stop: () => {
      quietly(() => iterator.return?.())
      // The iterator of a Node stream waits for a chunk that is out; the stream itself does not.
      if (isDestroyable(source)) quietly(() => source.destroy())
    },
  }
}

function isDestroyable(source: object): source is { destroy(): unknown } {
  return 'destroy' in source && typeof source.destroy === 'function' && 'readable' in source
}

function isEmitter(source: object): source is { on(name: 'error', listener: () => void): unknown } {
  return isDestroyable(source) && 'on' in source && typeof source.on === 'function'
}

function heard(): void {
  // The reader of the source gets the error.
}

/** A source that cannot be told, or fails while it is, has been left behind all the same. */
function quietly(tell: () => unknown): void {
  try {
    Promise.resolve(tell()).then(undefined, () => undefined)
  } catch {
    return
  }
}
