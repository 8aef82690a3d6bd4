import type { createHash, createHmac } from 'node:crypto'
import { loadBuiltIn } from './load-module.ts'

type Encoding = 'hex' | 'base64' | 'base64url'

interface NodeCrypto {
  readonly createHash: typeof createHash
  readonly createHmac: typeof createHmac
}

let loaded: NodeCrypto | undefined

/** Loaded with the first digest, which most programs never ask for: importing it costs 3 ms at every start. */
function nodeCrypto(): NodeCrypto {
  return (loaded ??= loadBuiltIn('node:crypto') as NodeCrypto)
}

/** The HMAC-SHA256 of a text. */
export function hmacSha256(secret: string, text: string, encoding: Encoding): string {
  return nodeCrypto().createHmac('sha256', secret).update(text).digest(encoding)
}

/** The SHA-256 of a text. */
export function sha256(text: string, encoding: Encoding): string {
  return nodeCrypto().createHash('sha256').update(text).digest(encoding)
}
