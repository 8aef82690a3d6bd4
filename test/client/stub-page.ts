import { setMaxListeners } from 'node:events'
import type { EndedRequest, PageDocument } from '../../src/client/connection/page.ts'

/** The `document` of a page, as far as a client looks at it. */
export class StubPage extends EventTarget {
  visibilityState = 'visible'
  defaultView: PageDocument['defaultView']
  readonly window: EventTarget = new EventTarget()

  /** Makes this the page that the code of this process is on. `requests`: what it knows of those that have ended. */
  static open(requests: readonly EndedRequest[] = []): StubPage {
    const page = new StubPage()
    page.defaultView = { performance: { getEntries: () => requests } }
    const { window } = page
    // Browsers know no such bound.
    setMaxListeners(0, page, window)
    Object.assign(globalThis, { document: page, addEventListener: window.addEventListener.bind(window) })
    return page
  }

  turn(visibilityState: 'visible' | 'hidden'): void {
    if (this.visibilityState === visibilityState) return
    this.visibilityState = visibilityState
    this.dispatchEvent(new Event('visibilitychange'))
  }

  /** The code of this process is on no page again. */
  static close(): void {
    for (const name of ['document', 'addEventListener']) Reflect.deleteProperty(globalThis, name)
  }
}
