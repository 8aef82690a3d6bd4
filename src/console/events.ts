import type { Engine } from '../core/engine.ts'
import type { Inside } from '../core/inside.ts'
import type { Connection } from '../http/live-request.ts'
import { Refused } from './refused.ts'

/** So many pages are told of changes at the same time. The others look again now and then. */
const MOST_OPEN = 200
/** So much is shown by the tabs of a browser that share an event source. */
const MOST_SHOWN = 50
/** Changes that follow each other within this time are told as one. */
const TOGETHER_MS = 150
/** A proxy takes a connection that says nothing for longer for dead. */
const BEAT_MS = 15_000

/** What a page shows that is about more than one run. */
const ALL_RUNS = 'runs'

/** Tells pages that something has changed, as server-sent events. A page that leaves stops costing. */
export class ChangeEvents {
  readonly #engine: Pick<Engine, 'on'>
  readonly #inside: Inside
  #open = 0

  constructor(engine: Pick<Engine, 'on'>, inside: Inside) {
    this.#engine = engine
    this.#inside = inside
  }

  /**
   * Changes of tokens, and of runs with their streams: of one run, of all, or of both for the tabs of a browser. The data says which; without
   * any it may be each of them. Ends with the session.
   */
  respond(
    { signal }: Request,
    {
      shown,
      connection,
      isOver,
    }: {
      readonly shown: readonly string[]
      readonly connection: Connection | undefined
      readonly isOver: () => boolean
    },
  ): Response {
    if (this.#open >= MOST_OPEN) throw new Refused(503, 'Too many pages are open.')
    connection?.outlast()
    let close = (): void => undefined
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        close = this.#tell(controller, { shown, isOver })
        signal.addEventListener('abort', close, { once: true })
      },
      cancel: () => close(),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
  }

  #tell(
    controller: ReadableStreamDefaultController<Uint8Array>,
    { shown, isOver }: { readonly shown: readonly string[]; readonly isOver: () => boolean },
  ): () => void {
    const { host } = this.#inside
    const encoder = new TextEncoder()
    let isClosed = false
    let cancelTimer = (): void => undefined
    const changes = new Set<string>()
    this.#open += 1
    const write = (text: string): void => controller.enqueue(encoder.encode(text))
    const beatLater = (): void => {
      cancelTimer()
      const about = { label: 'a page of the console', background: true }
      cancelTimer = host.clock.setTimer(host.now() + (changes.size > 0 ? TOGETHER_MS : BEAT_MS), beat, about)
    }
    const beat = (): void => {
      // A reader that takes nothing gets no more: one change is like several.
      const told = changes.has('') ? '' : [...changes].join(' ')
      if ((controller.desiredSize ?? 0) > -16)
        write(changes.size > 0 ? `event: changed\ndata: ${told}\n\n` : ':\n\n')
      changes.clear()
      if (isOver() || host.isClosed) close()
      else beatLater()
    }
    const changed = (what: string): void => {
      const isFirst = changes.size === 0
      changes.add(what)
      if (isFirst) beatLater()
    }
    const unsubscribe = this.#watch(shown, changed, beat)
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
  #watch(shown: readonly string[], changed: (what: string) => void, closed: () => void): () => void {
    const { news } = this.#inside
    const opened = shown.map((what) => {
      const watcher = what === ALL_RUNS ? news.watchLists() : news.watchStreams(what)
      const next = (): void => {
        watcher.changed().then(() => {
          changed(what)
          next()
        }, closed)
      }
      next()
      return watcher
    })
    const unsubscribe = this.#engine.on('token', () => changed(''))
    return () => {
      unsubscribe()
      for (const watcher of opened) watcher.close()
    }
  }
}

/** What an address asks to be told of. */
export function shownBy({ searchParams }: URL): readonly string[] {
  const shown = [...new Set(searchParams.getAll('of').filter((what) => what !== ''))]
  if (shown.length > MOST_SHOWN) throw new Refused(400, 'That is too much to follow.')
  return shown.length === 0 ? [ALL_RUNS] : shown
}
