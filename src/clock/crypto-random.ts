import type { RandomSource } from '../contract/random.ts'

/**
 * Random bytes are fetched this many at a time, because a call into the system costs about a microsecond whatever its
 * size.
 */
const POOL_BYTES = 4_096

/** Unpredictable values for production, from the cryptographic random numbers of the platform. */
export function cryptoRandom(): RandomSource {
  const pool = new Uint8Array(POOL_BYTES)
  const view = new DataView(pool.buffer)
  let used = POOL_BYTES

  /** The index of the next `length` unused bytes of the pool. */
  const take = (length: number): number => {
    if (used + length > POOL_BYTES) {
      crypto.getRandomValues(pool)
      used = 0
    }
    const from = used
    used += length
    return from
  }

  return {
    bytes(length) {
      if (length > POOL_BYTES) return fill(new Uint8Array(length))
      const from = take(length)
      const bytes = pool.slice(from, from + length)
      // Bytes that were handed out are wiped from memory.
      pool.fill(0, from, from + length)
      return bytes
    },
    fraction() {
      const from = take(8)
      return toFraction(view.getUint32(from), view.getUint32(from + 4))
    },
  }
}

/** The platform fills at most 64 KiB at once. */
function fill(bytes: Uint8Array): Uint8Array {
  for (let from = 0; from < bytes.length; from += POOL_BYTES) {
    crypto.getRandomValues(bytes.subarray(from, from + POOL_BYTES))
  }
  return bytes
}

/** 53 random bits, as many as a number can hold. */
function toFraction(high: number, low: number): number {
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53
}
