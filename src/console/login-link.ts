import type { Engine } from '../core/engine.ts'
import { type Inside, inside } from '../core/inside.ts'
import { readSignedText, signText } from './signed-text.ts'

/** A link that was printed is used soon, or not at all. */
const LINK_MS = 600_000
/** Begins the names of the settings that say which links were used. */
export const USED_LINK = 'console link '

/** The address that logs one browser in, once and within ten minutes. `url` is that of the console. */
export function loginLink(engine: Engine, url: string): string {
  const { value } = signText(inside(engine), { kind: 'link', lengthMs: LINK_MS })
  return `${url}/login?link=${value}`
}

/** Uses a link up. Answers whether it was good: the storage decides, so that no other process takes it as well. */
export async function useLoginLink(inside: Inside, value: string): Promise<boolean> {
  const signed = readSignedText(inside, value)
  if (signed?.kind !== 'link') return false
  const { random, storage } = inside.host
  const use = Buffer.from(random.bytes(16)).toString('base64url')
  const first = await inside.call(() => storage.settings.getOrInsert(USED_LINK + signed.nonce, use))
  return first === use
}
