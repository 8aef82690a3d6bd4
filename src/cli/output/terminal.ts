import { systemClock } from '../../clock/system.ts'
import type { Clock } from '../../contract/clock.ts'
import { hearKeys } from './keys.ts'
import { shownJson } from './text.ts'

/** Where a command writes to, and what it may ask of the process. */
export interface Terminal {
  readonly clock: Clock
  readonly env: Readonly<Record<string, string | undefined>>
  /** The columns of the terminal; none where the output goes to a pipe or a file. */
  readonly width: number | undefined
  /** Aborted by Ctrl-C, by a `SIGTERM`, and when the reader of the output has gone. */
  readonly signal: AbortSignal
  /** Hears single keys from now on, if there is a person to press them; answers whether there is. Ctrl-C aborts the signal. */
  hearKeys(pressed: (key: string) => void): boolean
  /** Writes lines for the reader of the output. */
  print(text: string): void
  /** Writes a value as JSON: over several lines for a terminal, on one line for a pipe. */
  printJson(value: unknown): void
  /** Writes a line that is not part of the output: progress, and warnings. */
  note(text: string): void
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const clock = systemClock()
  const ended = new AbortController()
  const end = (): void => ended.abort()
  process.on('SIGINT', end)
  process.on('SIGTERM', end)
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      end()
    })
  const { isTTY, columns } = process.stdout
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  return {
    clock,
    env: process.env,
    width: isTTY ? Math.max(40, columns) : undefined,
    signal: ended.signal,
    hearKeys,
    print,
    printJson: (value) => print(shownJson(value, isTTY ? 2 : undefined)),
    note: (text) => void process.stderr.write(`${text}\n`),
  }
}
