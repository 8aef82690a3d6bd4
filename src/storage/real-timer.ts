/**
 * Calls `fire` after so many real milliseconds, however a test clock stands; without keeping the process alive. For an
 * adapter that waits for another process: what that one does is not in this one's time.
 */
export function afterReal(ms: number, fire: () => void): () => void {
  const timer = setTimeout(fire, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/** The same for what somebody waits for: the process stays. */
export function pauseReal(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
