import { show } from '../../primitives/require.ts'

/** A part of the schedules of an exploration, for one of several processes. */
export interface Shard {
  /** From 1. */
  readonly index: number
  readonly count: number
}

/** All schedules. */
export const WHOLE: Shard = { index: 1, count: 1 }

/**
 * Reads `1/4`, the first of four parts.
 *
 * @throws RangeError for another text.
 */
export function parseShard(text: string | undefined): Shard {
  if (text === undefined || text === '') return WHOLE
  const [index, count] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(text)?.slice(1).map(Number) ?? []
  if (index === undefined || count === undefined || index > count)
    throw new RangeError(
      `Cannot use WAITPOINT_SHARD ${show(text)}: it must be the number of a part and that of all parts, such as 1/4 to 4/4`,
    )
  return { index, count }
}

/** Whether what comes at a place, from 0, belongs to the part. */
export function isInShard({ index, count }: Shard, place: number): boolean {
  return place % count === index - 1
}
