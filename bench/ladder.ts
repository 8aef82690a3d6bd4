import type { Contest, Contestant } from './contest.ts'
import type { Lab } from './lab.ts'
import type { Curve, CurveLine, CurvePoint, Goal, Measurement, Series } from './measurement.ts'
import { exponentOf, spreadOf } from './measurement.ts'

type MakeSide = (count: number) => Contestant | Promise<Contestant>

/** A cost that must not grow faster than its work. */
export interface Growth {
  readonly what: string
  /** The noun for the sizes. */
  readonly sizes: string
  readonly at: readonly number[]
  readonly ours: MakeSide
  readonly bare?: MakeSide
  /** Default: an exponent of 1.15. */
  readonly goal?: Goal
}

/** One job at several sizes. */
export interface Ladder {
  readonly growth: Growth
  readonly contests: readonly Contest[]
}

const LINEAR: Goal = { kind: 'value', most: 1.15 }
/** Warm-up work for the compiler. Without it, later sizes would seem to grow less than they do. */
const WARM_UP_PIECES = 20_000
const MOST_WARM_UPS = 20
const OURS = 'waitpoint'
const BARE = 'bare limit'

export function ladderOf(growth: Growth): Ladder {
  const { what, at, ours, bare } = growth
  const contests = at.map((count) => ({
    name: `${what}: ${count}`,
    count,
    rounds: 3,
    warmUps: Math.min(MOST_WARM_UPS, Math.ceil(WARM_UP_PIECES / count)),
    sides: { ours, ...(bare === undefined ? {} : { bare }) },
  }))
  return { growth, contests }
}

/** Measures every size. `others` are further lines of the plot. */
export async function climb(
  lab: Lab,
  { growth: { what, sizes, bare, goal }, contests }: Ladder,
  others: readonly CurveLine[] = [],
): Promise<Measurement> {
  const reached: Record<'ours' | 'bare', CurvePoint[]> = { ours: [], bare: [] }
  for (const contest of contests) {
    const sides = await lab.hold(contest)
    for (const side of ['ours', 'bare'] as const) {
      if (sides[side] !== undefined) reached[side].push(pointOf(contest.count, sides[side]))
    }
  }
  const lines = [...linesOf(reached.ours, bare && reached.bare), ...others]
  return { ...exponentLine({ what, sizes, unit: 'ns', lines }), ...(goal && { goal }) }
}

/** The power by which the cost of the engine grows, beside that of the bare limit. */
export function exponentLine(curve: Curve): Measurement {
  const ours = curve.lines.find(({ name }) => name === OURS)
  const bare = curve.lines.find(({ name }) => name === BARE)
  const points = ours?.points ?? []
  return {
    what: `${curve.what}: grows with a power of`,
    unit: 'count',
    count: points.at(-1)?.size ?? 0,
    ours: { values: [exponentOf(points)] },
    ...(bare && { bare: { values: [exponentOf(bare.points)] } }),
    goal: LINEAR,
    curve,
  }
}

/** The total cost at a size: the cost of one piece, multiplied. */
export function pointOf(size: number, { values }: Series): CurvePoint {
  return { size, cost: spreadOf(values).median * size }
}

/** The line of the engine, and of the bare limit if there is one. */
export function linesOf(
  ours: readonly CurvePoint[],
  bare: readonly CurvePoint[] | undefined,
): readonly CurveLine[] {
  return [{ name: OURS, points: ours }, ...(bare === undefined ? [] : [{ name: BARE, points: bare }])]
}
