import type { TokenKind } from '../contract/records.ts'

/** Options of `engine.timeline`. */
export interface TimelineOptions {
  /**
   * At most so many entries, 1 to 1,000.
   *
   * @unit entries
   * @default `20`
   */
  readonly limit?: number
}

/** Something that is due, as `engine.timeline` answers it. `kind` tells the shapes apart. See docs/operations.md. */
export type TimelineEntry = DueToken | DueRun | DueSchedule

interface Due {
  /** When it is due. An instant that is past is being dealt with, or its engines are gone. */
  readonly at: Date
  /** One sentence for people, in English, without the instant. The text may change with every version. */
  readonly sentence: string
}

/** A token that times out, or a sleep that is over. */
export interface DueToken extends Due {
  readonly kind: 'token'
  readonly id: string
  readonly tokenKind: TokenKind
  readonly tags: readonly string[]
  /** The run that made it, if one did. */
  readonly runId?: string
}

/** A run that starts after its delay, begins its next attempt, expires, or is looked at for another reason. */
export interface DueRun extends Due {
  readonly kind: 'run'
  readonly id: string
  readonly taskIdentifier: string
  readonly reason: 'starts' | 'retries' | 'expires' | 'goes on'
}

/** The next run of a schedule of this engine. */
export interface DueSchedule extends Due {
  readonly kind: 'schedule'
  readonly id: string
  readonly taskIdentifier: string
}
