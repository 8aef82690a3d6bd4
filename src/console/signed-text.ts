import type { Inside } from '../core/inside.ts'
import { areEqualSecrets } from '../http/access/equal-secrets.ts'
import { hmacSha256 } from '../primitives/digest.ts'

/** What a text was signed for. It is signed with the text, so that no text is good for another thing. */
export type SignedKind = 'key' | 'visit' | 'known' | 'link'

/** A text that an engine with one of these keys has signed, and that has not ended. */
export interface SignedText {
  readonly kind: SignedKind
  /** All of it, as a browser keeps it. */
  readonly value: string
  /** No other text has this one. */
  readonly nonce: string
  /** The key that it is signed with. */
  readonly key: string
}

/** Signs a text that is good for a while. Nothing is stored: each engine with this key knows it. */
export function signText(
  { host, credentials }: Inside,
  { kind, lengthMs }: { readonly kind: SignedKind; readonly lengthMs: number },
): SignedText {
  const nonce = Buffer.from(host.random.bytes(16)).toString('base64url')
  const content = `${kind}.${host.now() + lengthMs}.${nonce}`
  const key = credentials.accessKeys[0] ?? ''
  return { kind, nonce, key, value: `${content}.${signature(key, content)}` }
}

/** Reads a signed text. One that is forged, or that has ended, is none. */
export function readSignedText({ host, credentials }: Inside, value: string): SignedText | undefined {
  const [kind = '', end = '', nonce = '', presented = '', ...rest] = value.split('.')
  if (!isKind(kind) || rest.length > 0) return undefined
  const content = `${kind}.${end}.${nonce}`
  const key = credentials.accessKeys.find((one) => areEqualSecrets(presented, signature(one, content)))
  return key === undefined || !(Number(end) > host.now()) ? undefined : { kind, nonce, value, key }
}

const KINDS: Readonly<Record<SignedKind, true>> = { key: true, visit: true, known: true, link: true }

function isKind(text: string): text is SignedKind {
  return Object.hasOwn(KINDS, text)
}

function signature(key: string, content: string): string {
  return hmacSha256(key, `console session ${content}`, 'base64url')
}
