import { boundForm } from './bounded-parts.ts'
import { Refusal } from '../refusal.ts'
import { encodingRefused } from './body.ts'
import { formParts } from './multipart.ts'
import { charsetOf, type Decode, decoderOf, requireDecoder } from './text.ts'

export type FormField = readonly [name: string, value: string]

/** Fields in which a form names its charset. */
const CHARSET_FIELD = /^(?:_charset_|charset)$/
const [PERCENT, PLUS, SPACE] = [37, 43, 32]
/** The values of hexadecimal digits, by their bytes. */
const DIGITS: readonly number[] = Array.from({ length: 128 }, (_, byte) =>
  Number(/[\da-f]/i.test(String.fromCharCode(byte)) ? `0x${String.fromCharCode(byte)}` : Number.NaN),
)

/**
 * The fields of a form in the charset that its content type names, else the one that a field names, else UTF-8.
 *
 * @throws Refusal 400 for bytes that are no text in this charset, and for an unknown one.
 */
export function urlEncodedFields(body: Uint8Array, contentType: string | undefined): FormField[] {
  const fields: [name: Uint8Array, value: Uint8Array][] = []
  const letters = lettersOf(body)
  boundForm(letters, 'field', '&')
  for (const field of letters.split('&')) {
    if (field === '') continue
    const [name = '', ...value] = field.split('=')
    fields.push([unescaped(name), unescaped(value.join('='))])
  }
  const decode = decoderFor(
    contentType,
    fields.map(([name, value]) => [lettersOf(name), lettersOf(value)]),
  )
  return fields.map(([name, value]) => [decode(name), decode(value)])
}

/**
 * The fields of a form in parts. The charset of a part is that of its own content type, if it has one.
 *
 * @throws Refusal 400 for a body that is no such form, for files, for bytes that are no text in their charset, and for an unknown one; 415
 *   for a part in an encoding such as base64.
 */
export function multipartFields(body: Uint8Array, contentType: string): FormField[] {
  const letters = lettersOf(body)
  boundForm(letters, 'part', '\r\n--')
  const parts = formParts(letters, contentType)
  const file = parts.find(({ isFile }) => isFile)
  if (file !== undefined)
    throw new Refusal(400, `Cannot take the file in field "${file.name}": only text can be an output`)
  const decode = decoderFor(
    contentType,
    parts.map(({ name, value }) => [name, value]),
  )
  return parts.map(({ name, value, head }) => {
    const charset = partCharset(head)
    const decodePart = charset === undefined ? decode : requireDecoder(charset)
    return [decode(bytesOf(name)), decodePart(bytesOf(value))]
  })
}

/** The charset that a part names. */
function partCharset(head: string): string | undefined {
  const encoding = /^content-transfer-encoding:\s*(\S+)/im.exec(head)?.[1]
  if (encoding !== undefined && !/^(?:[78]bit|binary)$/i.test(encoding)) throw encodingRefused(encoding)
  return charsetOf(/^content-type:.*/im.exec(head)?.[0])
}

function decoderFor(contentType: string | undefined, fields: readonly FormField[]): Decode {
  const charset = charsetOf(contentType)
  if (charset !== undefined) return requireDecoder(charset)
  const named = fields.find(([name]) => CHARSET_FIELD.test(name))?.[1]
  // A field of this name may as well be one about something else.
  return (named === undefined ? undefined : decoderOf(named)) ?? requireDecoder()
}

/** In place, byte by byte: a replacement with a call for each escape takes ten times as long. */
function unescaped(text: string): Uint8Array {
  const bytes = bytesOf(text)
  let length = 0
  for (let place = 0; place < bytes.length; place++) {
    const byte = bytes[place] ?? 0
    const escaped = byte === PERCENT ? 16 * digitOf(bytes[place + 1]) + digitOf(bytes[place + 2]) : Number.NaN
    bytes[length++] = Number.isNaN(escaped) ? (byte === PLUS ? SPACE : byte) : escaped
    if (!Number.isNaN(escaped)) place += 2
  }
  return bytes.subarray(0, length)
}

/** The value of a hexadecimal digit, else `NaN`. */
function digitOf(byte: number | undefined): number {
  return byte === undefined ? Number.NaN : (DIGITS[byte] ?? Number.NaN)
}

function lettersOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

function bytesOf(letters: string): Uint8Array {
  return Buffer.from(letters, 'latin1')
}
