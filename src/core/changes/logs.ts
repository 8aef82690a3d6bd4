import type { LogLine } from '../../api/log.ts'
import { RingBuffer } from '../../primitives/ring-buffer.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { LOG } from '../diagnostics.ts'
import type { Host } from '../host/host.ts'
import type { LogEntry } from '../attempt/log-entry.ts'
import { printLine, readEntry } from '../host/log-line.ts'
import type { EventQueue } from './events.ts'

/** So many lines of all runs are kept, and so many bytes of them, as estimated. */
const MOST_LINES = 1_000
const MOST_BYTES = 1_048_576
/** A line without its texts. */
const LINE_BYTES = 200

interface Parts {
  readonly host: Host
  readonly events: EventQueue
}

/** The lines that tasks log here, and the last of them. */
export class Logs {
  readonly #kernel: Parts
  #lines: RingBuffer<LogLine> | undefined

  constructor(kernel: Parts) {
    this.#kernel = kernel
  }

  write(entry: LogEntry, attempt: Attempt | undefined): void {
    const { host, events } = this.#kernel
    const { id: runId, taskId: taskIdentifier, attempt: attemptNumber } = attempt?.record ?? {}
    const about = runId === undefined ? {} : { runId, taskIdentifier, attemptNumber }
    // The three are there together.
    const line = { at: new Date(host.now()), level: entry.level, ...readEntry(entry), ...about } as LogLine
    this.#lines ??= new RingBuffer({ capacity: MOST_LINES, maxBytes: MOST_BYTES })
    this.#lines.push(line, bytesOf(line))
    if (LOG.hasSubscribers) LOG.publish({ engine: host.owner, line })
    if (!events.log(line)) printLine(line)
  }

  /** The last lines of a run, the oldest first: those that are kept. */
  ofRun(runId: string): readonly LogLine[] {
    const lines = this.#lines?.read(this.#lines.first, MOST_LINES) ?? []
    return lines.filter((line) => line.runId === runId)
  }
}

function bytesOf({ message, fields }: LogLine): number {
  return LINE_BYTES + 2 * (message.length + (fields === undefined ? 0 : JSON.stringify(fields).length))
}
