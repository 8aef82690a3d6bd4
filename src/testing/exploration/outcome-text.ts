import type { RunOutcome } from '../../api/run.ts'
import { spellJson } from './answer-walk.ts'
import { spell } from './spell.ts'

interface Row {
  readonly answers: readonly string[]
  readonly result: string
  readonly durationMs: number
}

/** The output of a run as JSON, or its error. */
export function outcomeText(outcome: RunOutcome<unknown>): string {
  if (outcome.ok) return spellJson(outcome.output)
  const { code, cause } = outcome.error
  if (code !== 'ERR_RUN_FAILED') return code
  return cause instanceof Error ? `${cause.name}: ${cause.message}` : code
}

/** Rows as a table with a header and aligned columns. */
export function renderOutcomes(rows: readonly Row[]): string {
  const cells = rows.map(({ answers, result, durationMs }) => [
    answers.join(', ') || '(nobody is asked)',
    result,
    spell(durationMs),
  ])
  const table = [['the world answers', 'the run comes to', 'after'], ...cells]
  const widths = [0, 1].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n')
}
