import { createHash, timingSafeEqual } from 'node:crypto'

/** Whether two secrets are the same, in a time that tells nothing of where they differ. */
export function areEqualSecrets(presented: string, expected: string): boolean {
  // Digests, because what is compared must be of one length.
  return timingSafeEqual(digest(presented), digest(expected))
}

function digest(secret: string): Uint8Array {
  return createHash('sha256').update(secret).digest()
}
