import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { Passage } from './narrow-place.ts'

/** What a process was told before it was killed, written down where no crash can undo it: one JSON value a line. */
export type Observation =
  | { readonly what: 'triggered'; readonly run: string }
  | { readonly what: 'completed'; readonly token: string; readonly value: number }
  | { readonly what: 'refused'; readonly token: string }
  | { readonly what: 'kept'; readonly run: string; readonly effect: string }
  | { readonly what: 'finished'; readonly run: string }
  | { readonly what: 'aborted'; readonly run: string; readonly code: string; readonly at: number }
  | { readonly what: 'failed'; readonly error: string }
  | Passage

/** What the database says of a run once everything has come to its end. */
export interface RunAtEnd {
  readonly id: string
  readonly status: string
  /** Of a run that waited. */
  readonly output?: { readonly token: string; readonly value: number; readonly effect: string }
  readonly chunks: readonly string[]
}

/** An observation, and whose it is. */
export type Observed = Observation & { readonly pid: number }

export function observe(file: string, observation: Observation & { readonly pid?: number }): void {
  appendFileSync(file, `${JSON.stringify({ pid: process.pid, ...observation })}\n`)
}

export function observations(file: string): readonly Observed[] {
  if (!existsSync(file)) return []
  // What is behind the last end of a line is still being written.
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Observed)
}
