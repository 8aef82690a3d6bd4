import type { SegmentEnd } from './records.ts'

/** How bad an end is; `done` is the best. */
export function badness(end: SegmentEnd): number {
  if (end.reason === 'interrupted') return end.isIntended === true ? 1 : 2
  return end.reason === 'done' ? 0 : 3
}

/** The worse end, or the first of two that are as bad: a segment is no better than the worst of what was written to it. */
export function worseEnd(one: SegmentEnd, other: SegmentEnd): SegmentEnd {
  return badness(other) > badness(one) ? other : one
}
