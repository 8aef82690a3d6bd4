import { Refusal } from '../refusal.ts'
import { parameterOf } from './content-type.ts'

const UTF_8 = 'utf-8'

/** What bytes 128 to 159 are in windows-1252, which is also ISO-8859-1 on the web. Node 20 decodes them as control characters. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'
const CODES = Array.from(WINDOWS_1252, (letter) => letter.charCodeAt(0))

/** Decodes bytes that are text in one charset. @throws Refusal 400 for bytes that are not. */
export type Decode = (bytes: Uint8Array) => string

/** The charset that a content type names. */
export function charsetOf(contentType: string | null | undefined): string | undefined {
  return parameterOf(contentType, 'charset') || undefined
}

/** How to decode a charset of `TextDecoder`; `undefined` for an unknown one. */
export function decoderOf(charset: string): Decode | undefined {
  try {
    const decoder = new TextDecoder(charset, { fatal: true })
    if (decoder.encoding === 'windows-1252') return windows1252
    return (bytes) => decoded(() => decoder.decode(bytes), charset)
  } catch {
    return undefined
  }
}

/** Every byte is a letter. A replacement with a call for each of millions would take half a second. */
function windows1252(bytes: Uint8Array): string {
  const units = Buffer.alloc(2 * bytes.length)
  for (let place = 0; place < bytes.length; place++) {
    const byte = bytes[place] ?? 0
    const code = byte >= 128 && byte < 160 ? (CODES[byte - 128] ?? byte) : byte
    units[2 * place] = code
    units[2 * place + 1] = code >> 8
  }
  return units.toString('utf16le')
}

function decoded(decode: () => string, charset: string): string {
  try {
    return decode()
  } catch (cause) {
    const name = charset === UTF_8 ? 'UTF-8' : charset
    throw new Refusal(400, `Cannot read the request body: it is not ${name}`, { cause })
  }
}

/** How to decode a charset that a request names. @throws Refusal 400 for an unknown one. */
export function requireDecoder(charset: string = UTF_8): Decode {
  const decode = decoderOf(charset)
  if (decode !== undefined) return decode
  throw new Refusal(400, `Cannot read the request body: its charset "${charset}" is unknown`)
}

/**
 * The text of a body, in the charset that its content type names, else in UTF-8.
 *
 * @throws Refusal 400 for a body that is not, and for an unknown charset.
 */
export function decodeText(body: Uint8Array, contentType?: string | null): string {
  return requireDecoder(charsetOf(contentType))(body)
}
