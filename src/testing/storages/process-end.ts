const actions: (() => void)[] = []

/** Runs an action when this process ends, also when a test runner ends its worker with a signal. */
export function atProcessEnd(action: () => void): void {
  if (actions.push(action) > 1) return
  process.once('exit', act)
  // Raises the signal again, so that it has its usual effect.
  process.once('SIGTERM', () => {
    act()
    process.kill(process.pid, 'SIGTERM')
  })
}

function act(): void {
  for (const action of actions.splice(0)) action()
}
