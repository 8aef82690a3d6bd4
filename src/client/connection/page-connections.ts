import type { CancelTimer, Clock } from '../../contract/clock.ts'
import type { ClientSettings } from './options.ts'
import { onAbort } from '../../primitives/abort.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import type { Exchange } from './exchange.ts'
import { hasOneConnection, pageDocument } from './page.ts'

/** Browsers open six connections to one server over HTTP/1.1: two are left for requests that end by themselves. */
const MOST = 4
/** While followers wait, one of those that have a connection leaves it this often: a turn takes four times as long. */
const PACE_MS = 500

/** The followers of one server on a page. They take turns in a few connections, in the order in which they came. */
export class PageConnections {
  readonly #clock: Clock
  readonly #open = new Set<Exchange>()
  readonly #line = new Map<Exchange, () => void>()
  #cancelTimer: CancelTimer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Waits until there is a connection for this exchange, which has it until it ends. Rejects if it ends first. */
  async enter(exchange: Exchange): Promise<void> {
    const { promise, resolve } = createDeferred<void>()
    this.#line.set(exchange, resolve)
    onAbort(exchange.signal, () => {
      this.#line.delete(exchange)
      this.#open.delete(exchange)
      this.#admit()
    })
    this.#admit()
    if (this.#open.has(exchange)) return
    exchange.rest()
    await exchange.during(promise)
    exchange.heard()
  }

  #admit(): void {
    for (const [exchange, begin] of this.#line) {
      if (this.#open.size === MOST) break
      this.#line.delete(exchange)
      this.#open.add(exchange)
      begin()
    }
    if (this.#line.size > 0) return this.#pace()
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #pace(): void {
    this.#cancelTimer ??= this.#clock.setTimer(
      this.#clock.now() + PACE_MS,
      () => {
        this.#cancelTimer = undefined
        // The one that began first and can be resumed without a loss. Its end admits the next one.
        for (const exchange of this.#open) if (exchange.leave()) break
        this.#admit()
      },
      { label: 'the turn of a connection', background: true },
    )
  }
}

const pages = /* @__PURE__ */ new WeakMap<object, Map<string, PageConnections>>()

/** The connections of this page to the server of a client; `undefined` elsewhere than on a page, and where one connection does for all. */
export function pageConnections({ baseUrl, clock }: ClientSettings): PageConnections | undefined {
  const page = pageDocument()
  if (page === undefined) return undefined
  const servers = pages.get(page) ?? new Map<string, PageConnections>()
  const { origin } = new URL(baseUrl, page.baseURI)
  if (hasOneConnection(page, origin)) return undefined
  const connections = servers.get(origin) ?? new PageConnections(clock)
  pages.set(page, servers.set(origin, connections))
  return connections
}
