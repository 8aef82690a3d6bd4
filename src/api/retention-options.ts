import type { Duration } from './token.ts'

/** How long ended runs and settled tokens are kept. Their idempotency keys are kept until they expire. */
export interface RetentionOptions {
  /**
   * How long after its end a record is kept.
   *
   * @default an hour in memory, 30 days on a durable storage
   */
  readonly maxAge?: Duration
  /**
   * How many ended records are kept, the newest first. In memory only records that may go count.
   *
   * @unit records
   * @default `100_000` in memory, no limit on a durable storage
   */
  readonly maxCount?: number
  /**
   * How much memory ended records take with their texts and chunks, as estimated, the newest first. Only records that may
   * go count. A durable storage keeps records on disk and ignores it.
   *
   * @unit bytes
   * @default `268_435_456` in memory
   */
  readonly maxBytes?: number
}
