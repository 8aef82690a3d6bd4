import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Occasion } from './report.ts'

/** Reports as they were printed, by the instant of their measurement. */
const RESULTS = 'bench/results'

/** One line of a report. */
export interface Result {
  readonly date: string
  readonly figure: string
  readonly what: string
  readonly ours: string
  readonly beside: string
  readonly goal: string
  readonly verdict: string
}

/** Keeps a report. */
export function saveReport({ at }: Occasion, report: string): void {
  const [day, time = ''] = at.toISOString().split('T')
  mkdirSync(RESULTS, { recursive: true })
  writeFileSync(`${RESULTS}/${day}-${time.slice(0, 5).replace(':', '')}.txt`, `${report}\n`)
}

/** The lines of all reports, the newest first. */
export function readResults(): readonly Result[] {
  const files = readdirSync(RESULTS).filter((name) => name.endsWith('.txt'))
  return files
    .toSorted()
    .toReversed()
    .flatMap((file) => parseReport(readFileSync(`${RESULTS}/${file}`, 'utf8')))
}

/** The lines of a report: its cells are two spaces apart, and none has two of its own. */
export function parseReport(report: string): readonly Result[] {
  const date = /\d{4}-\d\d-\d\d/.exec(report)?.[0] ?? ''
  let figure = ''
  const results: Result[] = []
  for (const line of report.split('\n')) {
    if (/^[a-z-]+$/.test(line)) figure = line
    const [indent, what = '', ours, beside, ...others] = line.split(/ {2,}/)
    if (figure === '' || indent !== '' || ours === undefined || beside === undefined) continue
    const goal = others.find((cell) => cell.includes('≤')) ?? ''
    const verdict = others.find((cell) => cell === 'met' || cell === 'MISSED') ?? ''
    results.push({ date, figure, what, ours, beside, goal, verdict })
  }
  return results
}
