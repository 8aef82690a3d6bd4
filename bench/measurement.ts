/** The results of one side: one value for each repetition, for one piece of work. */
export interface Series {
  readonly values: readonly number[]
  /** The CPU time of the process for each value, including its garbage collector and compiler threads. */
  readonly cpu?: readonly number[]
}

/** The unit of `values`: nanoseconds, bytes, or a count. */
export type Unit = 'ns' | 'bytes' | 'count'

/** The limit for the engine: a value, a multiple of the other side, or an addition to it. */
export interface Goal {
  readonly kind: 'value' | 'ratio' | 'over'
  readonly most: number
}

/** Something that cannot be measured here, with the reason. */
export interface Omission {
  readonly what: string
  readonly why: string
}

/** The growth of a cost: the total cost at each size. */
export interface Curve {
  readonly what: string
  readonly unit: Unit
  /** The noun for the sizes. */
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

/** One line of the report: the engine beside the bare limit or the peer that `what` names, measured in turns. */
export interface Measurement {
  readonly what: string
  readonly unit: Unit
  /** The number of pieces of work behind each value. */
  readonly count: number
  readonly ours: Series
  readonly bare?: Series
  readonly goal?: Goal
  /** The plot, for a line about growth. */
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

/** The median of the ratios of all repetitions. A disturbance that slows both sides of a repetition does not count. */
export function ratioOf(ours: readonly number[], bare: readonly number[]): number {
  return spreadOf(ours.map((value, index) => value / (bare[index] ?? NaN))).median
}

/** Whether the engine meets its goal; `undefined` without a goal. */
export function isMet({ ours, bare, goal }: Measurement): boolean | undefined {
  if (goal === undefined) return undefined
  const { median } = spreadOf(ours.values)
  if (goal.kind === 'value') return median <= goal.most
  if (bare === undefined) return undefined
  if (goal.kind === 'ratio') return ratioOf(ours.values, bare.values) <= goal.most
  return median - spreadOf(bare.values).median <= goal.most
}

/** The power by which a cost grows with its size: the slope of the least-squares line through the logarithms. */
export function exponentOf(points: readonly CurvePoint[]): number {
  const logs = points.map(({ size, cost }) => ({ x: Math.log(size), y: Math.log(cost) }))
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / logs.length
  const centerX = mean(logs.map(({ x }) => x))
  const centerY = mean(logs.map(({ y }) => y))
  const together = mean(logs.map(({ x, y }) => (x - centerX) * (y - centerY)))
  return together / mean(logs.map(({ x }) => (x - centerX) ** 2))
}
