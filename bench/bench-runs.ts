/**
 * How many runs a figure about many of them has: `WAITPOINT_BENCH_RUNS`, else `usual`.
 *
 * @throws RangeError if it is not a whole number above 0.
 */
export function benchRuns(usual: number, asked: string = process.env['WAITPOINT_BENCH_RUNS'] ?? ''): number {
  if (asked === '') return usual
  const runs = Number(asked)
  if (!Number.isSafeInteger(runs) || runs < 1)
    throw new RangeError(`Cannot measure "${asked}" runs: set WAITPOINT_BENCH_RUNS to a whole number above 0`)
  return runs
}
