import { Refusal } from '../refusal.ts'
import { parameterOf } from './content-type.ts'

/** A part of a form, each byte as the letter with its number. */
export interface FormPart {
  readonly name: string
  readonly value: string
  readonly isFile: boolean
  /** Its header lines, each with the line break before it. */
  readonly head: string
}

const DISPOSITION = /(?<=\r\n)content-disposition:[ \t]*form-data[ \t]*([^\r\n]*)(?=\r\n)/gi
const PARAMETER = /;[ \t]*([!#-'*+.^-~\w-]+)=(?:"([^"]*)"|([!#-'*+.^-~\w-]+))[ \t]*/y
/** A disposition has a name, and perhaps the name of a file, in two ways. */
const MOST_PARAMETERS = 10
/** Bytes of the header of a part: what a server takes for that of a request. */
const MOST_HEAD_BYTES = 16_384

/**
 * The parts of a form (RFC 7578). What stands before the first boundary or behind the last one is no part (RFC 2046). They are read here
 * because `Request.formData()` takes other forms in each version of Node.
 *
 * @throws Refusal 400 for a body that is no such form, and one without its last boundary was cut; 413 for a part with a header that is
 *   longer than 16 KiB.
 */
export function formParts(letters: string, contentType: string): readonly FormPart[] {
  const name = parameterOf(contentType, 'boundary') ?? ''
  if (name === '') throw notForm()
  const boundary = `--${name}`
  const [before = '', ...texts] = `\r\n${letters}`.split(`\r\n${boundary}`)
  const end = texts.findIndex((text) => /^--[ \t]*(?:\r\n|$)/.test(text))
  // A boundary within a line is none: the parts behind it would be lost.
  if (end < 0 || before.includes(boundary)) throw notForm()
  return texts.slice(0, end).map(partOf)
}

function partOf(text: string): FormPart {
  const [padding] = /^[ \t]*\r\n/.exec(text) ?? []
  const length = text.indexOf('\r\n\r\n')
  if (padding === undefined || length < padding.length) throw notForm()
  if (length > MOST_HEAD_BYTES) throw new Refusal(413, 'Cannot read a part with a header of more than 16 KiB')
  const head = text.slice(0, length + 2)
  const parameters = parametersOf(head)
  const name = parameters.get('name')
  if (name === undefined) throw notForm()
  return {
    name: unescaped(name),
    value: text.slice(length + 4),
    isFile: parameters.has('filename') || parameters.has('filename*'),
    head,
  }
}

/** What the disposition of a part says. It has one, and each parameter once. */
function parametersOf(head: string): ReadonlyMap<string, string> {
  const [rest, ...others] = Array.from(head.matchAll(DISPOSITION), ([, text = '']) => text)
  if (rest === undefined || others.length > 0) throw notForm()
  const parameters = new Map<string, string>()
  PARAMETER.lastIndex = 0
  for (let read = 0; read < rest.length; read = PARAMETER.lastIndex) {
    const [, parameter, quoted, plain = ''] = PARAMETER.exec(rest) ?? []
    const name = parameter?.toLowerCase()
    if (name === undefined || parameters.has(name) || parameters.size === MOST_PARAMETERS) throw notForm()
    parameters.set(name, quoted ?? plain)
  }
  return parameters
}

/** The three characters that browsers escape in a name. */
function unescaped(name: string): string {
  return name.replaceAll('%22', '"').replace(/%0a/gi, '\n').replace(/%0d/gi, '\r')
}

function notForm(): Refusal {
  return new Refusal(400, 'Cannot read the request body: it is not multipart/form-data')
}
