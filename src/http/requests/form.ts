import { bufferToFormData } from 'hono/utils/buffer'
import { boundForm } from './bounded-parts.ts'
import { Refusal } from '../refusal.ts'
import { encodingRefused } from './body.ts'
import { charsetOf, type Decode, decoderOf, requireDecoder } from './text.ts'

export type FormField = readonly [name: string, value: string]

const MULTIPART = 'multipart/form-data'
/** Fields in which a form names its charset. */
const CHARSET_FIELD = /^(?:_charset_|charset)$/

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
export async function multipartFields(body: Uint8Array, contentType: string): Promise<FormField[]> {
  const text = lettersOf(body)
  boundForm(text, 'part', '\r\n--')
  const letters = await partsOf(body, contentType)
  const decode = decoderFor(contentType, letters)
  const charsets = partCharsets(text)
  return letters.map(([name, value], index) => {
    const charset = charsets[index]
    const decodePart = charset === undefined ? decode : requireDecoder(charset)
    return [decode(bytesOf(name)), decodePart(bytesOf(value))]
  })
}

/** Each byte as the letter with its number: what is read so loses nothing. */
async function partsOf(body: Uint8Array, contentType: string): Promise<FormField[]> {
  let form: FormData
  try {
    const lossless = new TextEncoder().encode(lettersOf(body))
    form = await bufferToFormData(lossless.buffer, contentType)
  } catch (cause) {
    throw new Refusal(400, `Cannot read the request body: it is not ${MULTIPART}`, { cause })
  }
  return Array.from(form, ([name, value]) => {
    if (typeof value === 'string') return [name, value]
    throw new Refusal(400, `Cannot take the file in field "${name}": only text can be an output`)
  })
}

/** The charsets that the parts name, in their order. */
function partCharsets(letters: string): (string | undefined)[] {
  const [boundary = ''] = letters.split('\r\n', 1)
  const [, ...parts] = `\r\n${letters}`.split(`\r\n${boundary}`)
  return parts.map((part) => {
    const [head = ''] = part.split('\r\n\r\n', 1)
    const encoding = /^content-transfer-encoding:\s*(\S+)/im.exec(head)?.[1]
    if (encoding !== undefined && !/^(?:[78]bit|binary)$/i.test(encoding)) throw encodingRefused(encoding)
    return charsetOf(/^content-type:.*/im.exec(head)?.[0])
  })
}

function decoderFor(contentType: string | undefined, fields: readonly FormField[]): Decode {
  const charset = charsetOf(contentType)
  if (charset !== undefined) return requireDecoder(charset)
  const named = fields.find(([name]) => CHARSET_FIELD.test(name))?.[1]
  // A field of this name may as well be one about something else.
  return (named === undefined ? undefined : decoderOf(named)) ?? requireDecoder()
}

function unescaped(text: string): Uint8Array {
  const plain = text.replaceAll('+', ' ')
  return bytesOf(
    plain.replace(/%([\da-f]{2})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16))),
  )
}

function lettersOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

function bytesOf(letters: string): Uint8Array {
  return Buffer.from(letters, 'latin1')
}
