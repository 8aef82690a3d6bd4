import { parseDuration } from '../../primitives/duration.ts'
import type { Duration } from '../../api/token.ts'

/** Bounds on the creation: with both, the later of `period` and `from` counts. */
export function createdBounds(
  {
    period,
    from,
    to,
  }: { readonly period?: Duration; readonly from?: Date | number; readonly to?: Date | number },
  now: number,
): { readonly from: number | undefined; readonly to: number | undefined } {
  const starts = [
    ...(period === undefined ? [] : [now - periodMs(period)]),
    ...(from === undefined ? [] : [instantOf(from, 'from')]),
  ]
  return {
    from: starts.length === 0 ? undefined : Math.max(...starts),
    to: to === undefined ? undefined : instantOf(to, 'to'),
  }
}

function periodMs(period: Duration): number {
  const ms = parseDuration(period, 'period')
  if (ms > 0) return ms
  throw new RangeError(`Cannot use period ${JSON.stringify(period)}: it must be longer than nothing`)
}

function instantOf(instant: Date | number, name: string): number {
  const at = instant instanceof Date ? instant.getTime() : instant
  if (Number.isFinite(at)) return at
  throw new RangeError(`Cannot read ${name} ${String(instant)}: use a Date or epoch milliseconds`)
}
