/** How many runs a figure about many of them has: `WAITPOINT_BENCH_RUNS`, else `usual`. */
export function benchRuns(usual: number): number {
  const asked = process.env['WAITPOINT_BENCH_RUNS'] ?? ''
  return asked === '' ? usual : Number(asked)
}
