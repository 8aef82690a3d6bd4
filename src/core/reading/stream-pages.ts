import { onAbort } from '../../primitives/abort.ts'
import type { Watcher } from '../changes/watchers.ts'
import type { Kernel } from '../kernel.ts'
import { alone, Reading } from './reading.ts'
import { nextChange, readRun } from './run-changes.ts'
import { isFinal } from '../../contract/run-states.ts'
import { streamTopic } from '../streams/channel.ts'
import { type StreamPlace, StreamReader } from './stream-reader.ts'
import type { ChunkPage } from '../../api/stream-page.ts'
import { type Late, late } from '../../primitives/late.ts'
import type * as lastAttempt from './last-attempt.ts'

/** What few readers ask for. */
export const LAST_ATTEMPT: Late<typeof lastAttempt> = /* @__PURE__ */ late(() => import('./last-attempt.ts'))

const NOTHING_YET: ChunkPage = { attempt: 1, first: 0, chunks: [], hasNext: false, start: 0, isLost: false }

/** One stream, by the run that writes it, and the cursor of its reader. */
export interface PagedStream {
  readonly id: string
  readonly reader: StreamReader
  readonly signal?: AbortSignal | undefined
}

/**
 * One stream from a place on, page by page as it is written. Throws `ERR_RUN_NOT_FOUND`, and
 * `StreamLaggedError`, after which it can be read on.
 */
export function readPages(kernel: Kernel, place: StreamPlace): Reading<ChunkPage> {
  const { runId: id, key } = place
  const reader = new StreamReader(kernel, place)
  return new Reading({
    watch: () => kernel.watchers.watch(id, streamTopic(id, key)),
    read: (watcher) => pagesOf(kernel, { id, reader }, watcher),
    items: alone,
  })
}

/**
 * The pages from the position of the reader. A page has an `end` when its segment has ended: a reader of one segment stops
 * there, one that reads on gets the chunks of the next attempt. Ends with the run, and after a segment that was not interrupted.
 */
export async function* pagesOf(
  kernel: Kernel,
  { id, reader, signal }: PagedStream,
  watcher: Watcher,
): AsyncGenerator<ChunkPage> {
  const removeAbort = onAbort(signal, () => watcher.wake(id))
  const last = reader.isLast
    ? await LAST_ATTEMPT.use(({ LastAttempt }) => new LastAttempt(kernel, id, reader))
    : undefined
  let isEndTold = false
  try {
    for (;;) {
      signal?.throwIfAborted()
      // Asked before the stream, so that a run that has ended has nothing more to come.
      const run = await readRun(kernel, id)
      const isOver = isFinal(run.status)
      const page = (await reader.take(isOver)) ?? NOTHING_YET
      const { chunks, hasNext } = page
      const pages = last === undefined ? [page] : await last.shown(page, run)
      yield* pages.filter((shown) => shown.chunks.length > 0 || (shown.end !== undefined && !isEndTold))
      const end = pages.at(-1)?.end
      if (end !== undefined && end.reason !== 'interrupted') return
      // An interrupted segment is the last one until the next attempt writes.
      isEndTold = end !== undefined && !hasNext
      if (hasNext || chunks.length > 0) continue
      if (isOver) return
      await nextChange(kernel, id, watcher)
    }
  } finally {
    removeAbort()
    watcher.close()
  }
}
