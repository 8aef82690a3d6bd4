/** What is used of the `document` of a page. */
export interface PageDocument {
  readonly visibilityState: string
  addEventListener(
    type: 'visibilitychange',
    listener: () => void,
    options: { readonly once: boolean; readonly signal: AbortSignal },
  ): void
}

declare const document: PageDocument | undefined

/** The page that this code is on; `undefined` elsewhere. */
export function pageDocument(): PageDocument | undefined {
  return typeof document === 'undefined' ? undefined : document
}

/** The page was hidden, and its connection given to the pages that are shown: browsers open six to one server. */
export class HiddenPageError extends Error {}
