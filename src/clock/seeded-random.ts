import type { RandomSource } from '../contract/random.ts'
import { show } from '../primitives/require.ts'

const WARM_UP_STEPS = 12

/**
 * Random values that depend on the seed only, on every machine. For tests, never for secrets.
 *
 * The generator is sfc32 (C. Doty-Humphrey, PractRand): 128 bits of state, a period of at least 2^32.
 *
 * @param seed Any whole number or string; the number `1` and the string `'1'` are the same seed.
 */
export function seededRandom(seed: number | string): RandomSource {
  const next = sfc32(String(seed))
  return {
    bytes(length) {
      const bytes = new Uint8Array(length)
      let word = 0
      for (let index = 0; index < length; index++) {
        word = index % 4 === 0 ? next() : word >>> 8
        bytes[index] = word & 0xff
      }
      return bytes
    },
    fraction: () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53,
  }
}

/** @throws TypeError unless it is a number or a string. */
export function requireSeed(seed: unknown): void {
  if (typeof seed !== 'string' && !Number.isFinite(seed))
    throw new TypeError(`Cannot use seed ${show(seed)}: it must be a number or a string`)
}

function sfc32(seed: string): () => number {
  let a = hash(seed, 0x9e3779b9)
  let b = hash(seed, 0x243f6a88)
  let c = hash(seed, 0xb7e15162)
  let counter = 1

  const next = (): number => {
    const word = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + word) | 0
    return word >>> 0
  }
  for (let step = 0; step < WARM_UP_STEPS; step++) next()
  return next
}

/** FNV-1a with a final mix, so that seeds that differ in one bit start far apart. */
function hash(text: string, basis: number): number {
  let value = basis
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) | 0
}
