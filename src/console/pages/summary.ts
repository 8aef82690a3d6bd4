import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import { plainValue } from '../../api/noted-value.ts'
import { fromJson, storedError } from '../../api/serialize.ts'
import { readOverrides } from '../../core/inside.ts'
import { html, type Html } from '../../primitives/html.ts'
import { count, moment, short } from '../values.ts'
import { nameOfToken } from './token.ts'

/** So many characters are in the line of a row. */
const MOST_OF_A_LINE = 200
/** A longer payload is not read for its first text. */
const MOST_OF_A_PAYLOAD = 20_000

/** What a run says of itself in one line: its error, else what it waits for, else its title, else the first text of its payload. */
export function summaryOf(
  { errorJson, optionsJson, payloadJson }: RunRecord,
  waits: readonly TokenRecord[],
  now: number,
): Html | string | undefined {
  if (errorJson !== undefined) return lineOf(storedError(errorJson).message)
  if (waits.length > 0) return waitLine(waits, now)
  const { title = '' } = readOverrides(optionsJson)
  if (title !== '') return lineOf(title)
  if (payloadJson === undefined || payloadJson.length > MOST_OF_A_PAYLOAD) return undefined
  return lineOf(firstText(plainValue(fromJson(payloadJson))) ?? '')
}

/** The first line that says something. */
function lineOf(text: string): string {
  return short(text.trim().split(/[\r\n]/, 1)[0] ?? '', MOST_OF_A_LINE)
}

function waitLine([first, ...others]: readonly TokenRecord[], now: number): Html | string | undefined {
  if (first === undefined) return undefined
  const { kind, questionJson, timeoutAt } = first
  const more = others.length === 0 ? '' : `, and ${count(others.length)} more`
  if (kind === 'SLEEP') return html`Sleeps, over ${moment(timeoutAt, now)}${more}`
  if (kind === 'RUN') return `Waits for a child run${more}`
  if (questionJson !== undefined) return `Waits for a person: ${nameOfToken(first)}${more}`
  return `Waits for a token: ${nameOfToken(first)}${more}`
}

/** In the order of the payload, and however deep. */
function firstText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value
  if (typeof value !== 'object' || value === null) return undefined
  for (const inner of Object.values(value)) {
    const text = firstText(inner)
    if (text !== undefined) return text
  }
  return undefined
}
