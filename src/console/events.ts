import type { Engine } from '../core/engine.ts'
import type { Inside } from '../core/inside.ts'
import type { Connection } from '../http/live-request.ts'
import { Refused } from './refused.ts'

/** So many pages are told of changes at the same time. The others look again now and then. */
const MOST_OPEN = 200
/** Changes that follow each other within this time are told as one. */
const TOGETHER_MS = 150
/** A proxy takes a connection that says nothing for longer for dead. */
const BEAT_MS = 15_000

/** Tells pages that something has changed, as server-sent events. A page that leaves stops costing. */
export class ChangeEvents {
  readonly #engine: Pick<Engine, 'on'>
  readonly #inside: Inside
  #open = 0

  constructor(engine: Pick<Engine, 'on'>, inside: Inside) {
    this.#engine = engine
    this.#inside = inside
  }

  /** Changes of one run and its streams; without it of all runs and tokens of this engine. Ends with the session. */
  respond(
    { signal }: Request,
    {
      runId,
      connection,
      isOver,
    }: {
      readonly runId: string | undefined
      readonly connection: Connection | undefined
      readonly isOver: () => boolean
    },
  ): Response {
    if (this.#open >= MOST_OPEN) throw new Refused(503, 'Too many pages are open.')
    connection?.outlast()
    let close = (): void => undefined
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        close = this.#tell(controller, { runId, isOver })
        signal.addEventListener('abort', close, { once: true })
      },
      cancel: () => close(),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
  }

  #tell(
    controller: ReadableStreamDefaultController<Uint8Array>,
    { runId, isOver }: { readonly runId: string | undefined; readonly isOver: () => boolean },
  ): () => void {
    const { host } = this.#inside
    const encoder = new TextEncoder()
    let isClosed = false
    let cancelTimer = (): void => undefined
    let isChanged = false
    this.#open += 1
    const write = (text: string): void => controller.enqueue(encoder.encode(text))
    const beatLater = (): void => {
      cancelTimer()
      const about = { label: 'a page of the console', background: true }
      cancelTimer = host.clock.setTimer(host.now() + (isChanged ? TOGETHER_MS : BEAT_MS), beat, about)
    }
    const beat = (): void => {
      // A reader that takes nothing gets no more: one change is like several.
      if ((controller.desiredSize ?? 0) > -16) write(isChanged ? 'event: changed\ndata:\n\n' : ':\n\n')
      isChanged = false
      if (isOver() || host.isClosed) close()
      else beatLater()
    }
    const changed = (): void => {
      if (isChanged) return
      isChanged = true
      beatLater()
    }
    const unsubscribe = this.#watch(runId, changed, beat)
    const close = (): void => {
      if (isClosed) return
      isClosed = true
      this.#open -= 1
      cancelTimer()
      unsubscribe()
      try {
        controller.close()
      } catch {
        // Its reader has left.
      }
    }
    write('retry: 2000\n\n')
    beatLater()
    return close
  }

  /** Tells of changes, and of the end of the engine. */
  #watch(runId: string | undefined, changed: () => void, closed: () => void): () => void {
    const { news } = this.#inside
    const watcher = runId === undefined ? news.watchLists() : news.watchStreams(runId)
    const unsubscribe = this.#engine.on('token', changed)
    const next = (): void => {
      watcher.changed().then(() => {
        changed()
        next()
      }, closed)
    }
    next()
    return () => {
      unsubscribe()
      watcher.close()
    }
  }
}
