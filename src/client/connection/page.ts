/** What is used of the `document` of a page, and of its window. */
export interface PageTarget {
  addEventListener(
    type: string,
    listener: () => void,
    options: { readonly once?: boolean; readonly signal: AbortSignal },
  ): void
}

/** What a page knows of a request that has ended, or of its own. */
export interface EndedRequest {
  readonly name: string
  /** Empty for one to another origin that does not tell. */
  readonly nextHopProtocol?: string
}

/** The `document` of a page, as far as it is used. */
export interface PageDocument extends PageTarget {
  readonly visibilityState: string
  readonly baseURI?: string
  readonly defaultView?: { readonly performance: { getEntries(): readonly EndedRequest[] } } | null
}

declare const document: PageDocument | undefined
declare const addEventListener: PageTarget['addEventListener'] | undefined

/** The page that this code is on; `undefined` elsewhere. */
export function pageDocument(): PageDocument | undefined {
  return typeof document === 'undefined' ? undefined : document
}

/** Whether requests of a page to a server share one connection, as those of HTTP/2 and later do: as far as the page knows. */
export function hasOneConnection({ defaultView }: PageDocument, origin: string): boolean {
  const ended = defaultView?.performance.getEntries() ?? []
  return ended.some(
    ({ name, nextHopProtocol }) => /^h[23]/.test(nextHopProtocol ?? '') && name.startsWith(`${origin}/`),
  )
}

/**
 * The page was hidden, and its connection given to the pages that are shown: browsers open six to one server. Or it is online again, and
 * a connection of before may be dead without a sign.
 */
export class PageChangedError extends Error {}

/** Another follower of the page has the connection now, and the follower that had it is in line. */
export class TurnOverError extends PageChangedError {}

/** Calls `listener` whenever the page was hidden or shown, also from the cache of pages that were left. */
export function onVisibility(page: PageDocument, listener: () => void, signal: AbortSignal): void {
  page.addEventListener('visibilitychange', listener, { signal })
  onWindow('pageshow', listener, signal)
}

/** Calls `listener` whenever the page has a network again. */
export function onOnline(listener: () => void, signal: AbortSignal): void {
  onWindow('online', listener, signal)
}

/** Calls `listener` whenever the page may reach its servers again: it is shown, or has a network. Elsewhere than on a page it does nothing. */
export function onBack(listener: () => void, signal: AbortSignal): void {
  const page = pageDocument()
  if (page === undefined) return
  onVisibility(page, () => page.visibilityState !== 'hidden' && listener(), signal)
  onOnline(listener, signal)
}

function onWindow(type: string, listener: () => void, signal: AbortSignal): void {
  if (typeof addEventListener === 'function') addEventListener(type, listener, { signal })
}
