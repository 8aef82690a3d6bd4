/** Real I/O that no hold reports to a clock. While it is in progress, the clock does nothing by itself. */
export interface RealIo {
  readonly isUnderWay: boolean
  /** Resolves when all current I/O has ended, after one further turn of the event loop. */
  ended(): Promise<void>
}
