/** How long this process may be silent before the others count it as dead. */
export const leaseMs: number = Number(process.env['WAITPOINT_LEASE_MS'] ?? 30_000)

/** How long this process rests between two rounds of its load. */
export const roundPauseMs: number = Number(process.env['WAITPOINT_ROUND_PAUSE_MS'] ?? 0)

/** How far the wall clock of this process is ahead of those of the others. */
const aheadMs = Number(process.env['WAITPOINT_AHEAD_MS'] ?? 0)
if (aheadMs !== 0) {
  const now = Date.now.bind(Date)
  Date.now = () => now() + aheadMs
}

/** Ends this process with the one that started it: a test that failed or took too long does not end what it started. */
export function endWithParent(): void {
  process.stdin.on('end', () => process.exit(1)).resume()
  process.stdin.unref()
}
