import { mkdirSync, writeFileSync } from 'node:fs'
import type { Curve } from './measurement.ts'
import { writePage } from './page.ts'
import { renderPlot } from './plot.ts'
import type { FigureReport, Occasion } from './report.ts'
import { saveReport } from './results.ts'

/** The argument that keeps the report, and writes the README and the plots. */
export const WRITE_FLAG = '--write'

const CURVES = 'bench/plots'

/** Keeps a report among the results, with a plot for each of its curves, and writes the README from all results. */
export function writeUp(occasion: Occasion, report: string, figures: readonly FigureReport[]): void {
  const curves = figures.flatMap((figure) => ('error' in figure ? [] : curvesOf(figure)))
  if (curves.length > 0) mkdirSync(CURVES, { recursive: true })
  for (const curve of curves) writeFileSync(`${CURVES}/${fileOf(curve)}`, renderPlot(curve))
  saveReport(occasion, report)
  writePage()
}

function curvesOf({ measurements }: Extract<FigureReport, { measurements: unknown }>): readonly Curve[] {
  return measurements.flatMap((line) => ('why' in line || line.curve === undefined ? [] : [line.curve]))
}

function fileOf({ what }: Curve): string {
  return `${what.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.svg`
}
