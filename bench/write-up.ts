import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Curve } from './measurement.ts'
import { renderPlot } from './plot.ts'
import type { FigureReport } from './report.ts'

/** The argument that writes the report into the README, and its plots beside it. */
export const WRITE_FLAG = '--write'

const README = 'bench/README.md'
const PLOTS = 'bench/plots'
const BEGIN = '<!-- measured: begin -->'
const END = '<!-- measured: end -->'

/** Replaces the marked block of the README by a report, and writes a plot for each of its curves. */
export function writeUp(report: string, figures: readonly FigureReport[]): void {
  const curves = figures.flatMap((figure) => ('error' in figure ? [] : curvesOf(figure)))
  if (curves.length > 0) mkdirSync(PLOTS, { recursive: true })
  for (const curve of curves) writeFileSync(`${PLOTS}/${fileOf(curve)}`, renderPlot(curve))
  writeFileSync(README, replaceBlock(readFileSync(README, 'utf8'), renderBlock(report, curves)))
}

/** A document with its marked block replaced. */
export function replaceBlock(document: string, block: string): string {
  const begin = document.indexOf(BEGIN)
  const end = document.indexOf(END)
  if (begin < 0 || end < begin) throw new Error(`Cannot write "${README}": it has no block "${BEGIN}"`)
  return `${document.slice(0, begin + BEGIN.length)}\n\n${block}\n\n${document.slice(end)}`
}

function renderBlock(report: string, curves: readonly Curve[]): string {
  const table = ['```text', report, '```'].join('\n')
  return [table, ...curves.map((curve) => `![${curve.what}](plots/${fileOf(curve)})`)].join('\n\n')
}

function curvesOf({ measurements }: Extract<FigureReport, { measurements: unknown }>): readonly Curve[] {
  return measurements.flatMap((line) => ('why' in line || line.curve === undefined ? [] : [line.curve]))
}

function fileOf({ what }: Curve): string {
  return `${what.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.svg`
}
