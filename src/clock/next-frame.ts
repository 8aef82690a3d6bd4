declare const requestAnimationFrame: ((work: () => void) => number) | undefined

/** So long is a frame where there are none. */
const FRAME_MS = 16

/** Calls `work` when the page is about to be drawn: not before it is shown. Elsewhere than on a page soon. */
export function onNextFrame(work: () => void): void {
  if (typeof requestAnimationFrame === 'function') requestAnimationFrame(work)
  else setTimeout(work, FRAME_MS)
}

/** Calls `work` once everything that is under way in this turn of the event loop is done. */
export function afterPageTurn(work: () => void): void {
  setTimeout(work, 0)
}
