/** Real I/O that no hold tells a clock of: what it does by itself comes after it, however long it takes. */
export interface RealIo {
  readonly isUnderWay: boolean
  /** Resolves when all that is under way now has ended, and a turn of the event loop with what it led to. */
  ended(): Promise<void>
}
