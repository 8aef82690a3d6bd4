/** The source of unpredictability: cryptographic in production, seeded in tests. */
export interface RandomSource {
  bytes(length: number): Uint8Array
  /** A number in [0, 1), for jitter. */
  fraction(): number
}
