import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares two secrets in a time that does not depend on where they differ. */
export function areEqualSecrets(presented: string, expected: string): boolean {
  // Digests, because the comparison needs inputs of one length.
  return timingSafeEqual(digest(presented), digest(expected))
}

function digest(secret: string): Uint8Array {
  return createHash('sha256').update(secret).digest()
}
