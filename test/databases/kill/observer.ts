import { appendFileSync, readFileSync } from 'node:fs'

/** What a process was told before it was killed, written down where no crash can undo it: one JSON value a line. */
export type Observation =
  | { readonly what: 'triggered'; readonly run: string }
  | { readonly what: 'completed'; readonly token: string; readonly value: number }
  | { readonly what: 'refused'; readonly token: string }
  | { readonly what: 'kept'; readonly run: string; readonly effect: string }
  | { readonly what: 'finished'; readonly run: string }
  | { readonly what: 'failed'; readonly error: string }

export function observe(file: string, observation: Observation): void {
  appendFileSync(file, `${JSON.stringify(observation)}\n`)
}

export function observations(file: string): readonly Observation[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Observation)
}
