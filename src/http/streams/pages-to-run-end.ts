import type { ChunkPage } from '../../api/stream-page.ts'
import { isFinal } from '../../contract/run-states.ts'
import type { Inside } from '../../core/inside.ts'

export type PagedPlace = Parameters<Inside['streams']['pages']>[0]

/** The pages of a stream, for a reader that may leave at any time. */
export interface LeftPages {
  readonly pages: AsyncIterable<ChunkPage>
  readonly leave: () => Promise<unknown>
}

/**
 * One stream to the end of its run: it goes on after the moments at which all of its sources have ended. How they ended is told when the
 * run is over.
 */
export function pagesToRunEnd(inside: Inside, place: PagedPlace): LeftPages {
  const { host, news, streams } = inside
  const { runId } = place
  const watcher = news.watchStreams(runId)
  let pass = streams.pages(place)

  async function* pages(): AsyncGenerator<ChunkPage> {
    let { from = 0, isResumed = false } = place
    try {
      for (;;) {
        // Asked before the stream: a run that has ended has nothing more to come.
        const run = await inside.read(() => host.storage.runs.get(runId))
        const isOver = run === undefined || isFinal(run.status)
        for await (const { end, ...page } of pass) {
          isResumed ||= page.chunks.length > 0
          from = page.first + page.chunks.length
          yield end !== undefined && (isOver || end.reason === 'interrupted') ? { ...page, end } : page
        }
        if (isOver) return
        await news.nextChange(runId, watcher)
        pass = streams.pages({ ...place, from, isResumed })
      }
    } finally {
      watcher.close()
    }
  }
  return {
    pages: pages(),
    leave: () => {
      watcher.fail(new Error('Cannot read on: the reader has left'))
      watcher.close()
      return pass.return()
    },
  }
}
