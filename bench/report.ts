import type { Goal, Measurement, Omission, Series, Unit } from './measurement.ts'
import { isMet, ratioOf, spreadOf } from './measurement.ts'

/** The place and time of a measurement. */
export interface Occasion {
  readonly at: Date
  readonly node: string
  readonly platform: string
  readonly cpus: number
  readonly model: string
  /** The average number of processes that wanted a CPU in the minute before. */
  readonly load: number
  /** The peers by package and version. */
  readonly peers: readonly string[]
}

/** The result of one figure. */
export type FigureReport =
  | { readonly name: string; readonly measurements: readonly (Measurement | Omission)[] }
  | { readonly name: string; readonly error: unknown }

const COLUMNS = [
  '',
  'ours',
  'beside',
  'ratio',
  'ours CPU',
  'CPU ratio',
  'goal',
  '',
  'N × reps',
  'ours p25–p75',
  'beside p25–p75',
]
const NONE = '–'
const SMALL = 0.1

/** The whole report, for a terminal or a `text` block. */
export function renderReport(occasion: Occasion, figures: readonly FigureReport[]): string {
  const rows = figures.flatMap((figure) => [
    [],
    [figure.name],
    ...('error' in figure
      ? [[`  not measured: ${String(figure.error)}`]]
      : figure.measurements.map((line) => ('why' in line ? omissionOf(line) : rowOf(line)))),
  ])
  return [
    headline(occasion),
    `beside ${occasion.peers.join(', ')}`,
    '',
    ...renderTable([COLUMNS, ...rows]),
  ].join('\n')
}

function headline({ at, node, platform, cpus, model, load }: Occasion): string {
  const machine = `Node ${node}, ${platform}, ${cpus} CPUs (${model}), load ${load.toFixed(1)}`
  return `waitpoint, ${at.toISOString().slice(0, 16).replace('T', ' ')} UTC, ${machine}`
}

function omissionOf({ what, why }: Omission): readonly string[] {
  return [`  ${what}: not measured, ${why}`]
}

function rowOf(measurement: Measurement): readonly string[] {
  const { what, unit, count, ours, bare, goal } = measurement
  const spell = (value: number): string => spellValue(value, unit)
  const verdict = { true: 'met', false: 'MISSED', undefined: '' }[String(isMet(measurement))] ?? ''
  return [
    `  ${what}`,
    spell(spreadOf(ours.values).median),
    bare === undefined ? NONE : spell(spreadOf(bare.values).median),
    spellRatio(ours.values, bare?.values),
    ours.cpu === undefined ? NONE : spell(spreadOf(ours.cpu).median),
    spellRatio(ours.cpu, bare?.cpu),
    goal === undefined ? '' : spellGoal(goal, unit),
    verdict,
    `${count.toLocaleString('en-US')} × ${ours.values.length}`,
    spellSpread(ours, unit),
    bare === undefined ? NONE : spellSpread(bare, unit),
  ]
}

function spellSpread({ values }: Series, unit: Unit): string {
  const { low, high } = spreadOf(values)
  return `${spellValue(low, unit)}–${spellValue(high, unit)}`
}

function spellRatio(ours: readonly number[] | undefined, bare: readonly number[] | undefined): string {
  if (ours === undefined || bare === undefined) return NONE
  const ratio = ratioOf(ours, bare)
  // Nothing beside nothing.
  return Number.isNaN(ratio) ? NONE : spellTimes(ratio)
}

/** A small part of the other side, as a fraction: `1/40`. */
function spellTimes(times: number): string {
  return times < SMALL ? `1/${(1 / times).toFixed(0)}` : `${times.toFixed(2)}×`
}

function spellGoal({ kind, most }: Goal, unit: Unit): string {
  if (kind === 'ratio') return most < SMALL ? `≤ ${spellTimes(most)}` : `≤ ${Number(most.toFixed(2))}×`
  return `${kind === 'over' ? 'bare + ' : ''}≤ ${spellValue(most, unit)}`
}

const STEPS: Readonly<Record<Unit, readonly string[]>> = {
  ns: ['ns', 'µs', 'ms', 's'],
  bytes: ['B', 'kB', 'MB', 'GB'],
  count: [''],
}

/** Three significant digits, in a readable unit: `14.2 µs`. */
export function spellValue(value: number, unit: Unit): string {
  const steps = STEPS[unit]
  let scaled = value
  let step = 0
  while (Math.abs(scaled) >= 999.5 && step < steps.length - 1) {
    scaled /= 1_000
    step += 1
  }
  const digits = Math.abs(scaled) >= 999.5 ? scaled.toFixed(0) : Number(scaled.toPrecision(3)).toString()
  return `${digits} ${steps[step] ?? ''}`.trim()
}

/** Rows with fewer cells than columns are titles. */
function renderTable(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = COLUMNS.map((_, column) =>
    Math.max(...rows.filter(({ length }) => length > 1).map((row) => row[column]?.length ?? 0)),
  )
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
}
