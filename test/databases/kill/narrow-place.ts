/** How many may be in the narrow place at once. */
export const NARROW = 2

/**
 * An attempt is in the narrow place between `entered` and `left`. A process that dies or stands still in it counts as
 * having left. It does not enter again before it has aborted its attempt: until then it may still execute a run that
 * another process has claimed since.
 */
export interface Passage {
  readonly what: 'entered' | 'left' | 'gone' | 'aborted'
  readonly passage?: string
  readonly at: number
}

/** Microseconds that all processes of a machine count alike, whatever its wall clock says. */
export function machineTime(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}

/** How many were in the narrow place at once, at most. */
export function mostAtOnce(passages: readonly (Passage & { readonly pid: number })[]): number {
  const inside = new Map<string, number>()
  const gone = new Set<number>()
  let most = 0
  for (const { what, pid, passage = '' } of passages) {
    if (what === 'aborted') gone.delete(pid)
    else if (gone.has(pid)) continue
    else if (what === 'entered') inside.set(passage, pid)
    else if (what === 'left') inside.delete(passage)
    else {
      gone.add(pid)
      for (const [other, of] of inside) if (of === pid) inside.delete(other)
    }
    most = Math.max(most, inside.size)
  }
  return most
}
