/** What one side came to, a value for each repetition, for one piece of the work. */
export interface Series {
  readonly values: readonly number[]
  /** The CPU time of the process behind each value, its garbage collector and compiler threads included. */
  readonly cpu?: readonly number[]
}

/** What `values` are in: nanoseconds, bytes, or things that are counted. */
export type Unit = 'ns' | 'bytes' | 'count'

/** The most that ours may come to: a value, a multiple of what is beside it, or so much more than that. */
export interface Goal {
  readonly kind: 'value' | 'ratio' | 'over'
  readonly most: number
}

/** What cannot be measured here, and why. */
export interface Omission {
  readonly what: string
  readonly why: string
}

/** How a cost grows with its work: the whole cost for each size. */
export interface Curve {
  readonly what: string
  readonly unit: Unit
  /** What the sizes count. */
  readonly sizes: string
  readonly lines: readonly CurveLine[]
}

export interface CurveLine {
  readonly name: string
  readonly points: readonly CurvePoint[]
}

export interface CurvePoint {
  readonly size: number
  readonly cost: number
}

/** One line of the report: ours beside the bare limit or the peer that `what` names, taken in turns in the same run. */
export interface Measurement {
  readonly what: string
  readonly unit: Unit
  /** How many pieces of work each value comes from. */
  readonly count: number
  readonly ours: Series
  readonly bare?: Series
  readonly goal?: Goal
  /** Where this is about how a cost grows: what is plotted. */
  readonly curve?: Curve
}

/** Lower quartile, median, upper quartile. */
export interface Spread {
  readonly low: number
  readonly median: number
  readonly high: number
}

/** Median and quartiles, interpolated between neighbours. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((one, other) => one - other)
  const at = (fraction: number): number => {
    const position = (sorted.length - 1) * fraction
    const below = sorted[Math.floor(position)] ?? NaN
    const above = sorted[Math.ceil(position)] ?? NaN
    return below + (above - below) * (position - Math.floor(position))
  }
  return { low: at(0.25), median: at(0.5), high: at(0.75) }
}

/** The median of the ratios of each repetition: what slows both sides of one down does not count. */
export function ratioOf(ours: readonly number[], bare: readonly number[]): number {
  return spreadOf(ours.map((value, index) => value / (bare[index] ?? NaN))).median
}

/** Whether ours is within its goal; nothing to say without one. */
export function isMet({ ours, bare, goal }: Measurement): boolean | undefined {
  if (goal === undefined) return undefined
  const { median } = spreadOf(ours.values)
  if (goal.kind === 'value') return median <= goal.most
  if (bare === undefined) return undefined
  if (goal.kind === 'ratio') return ratioOf(ours.values, bare.values) <= goal.most
  return median - spreadOf(bare.values).median <= goal.most
}

/** By which power of its size a cost grows: the slope of the least-squares line through the logarithms. */
export function exponentOf(points: readonly CurvePoint[]): number {
  const logs = points.map(({ size, cost }) => ({ x: Math.log(size), y: Math.log(cost) }))
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / logs.length
  const centerX = mean(logs.map(({ x }) => x))
  const centerY = mean(logs.map(({ y }) => y))
  const together = mean(logs.map(({ x, y }) => (x - centerX) * (y - centerY)))
  return together / mean(logs.map(({ x }) => (x - centerX) ** 2))
}
