import type { Turns } from '../../core/inside.ts'
import { NOTED, notesOf, plainValue } from '../../api/noted-value.ts'
import { NOTED_JSON } from '../../hosted/packets.ts'

/** A value as text of a type that the published client reads. */
export interface PacketText {
  readonly text: string | undefined
  readonly type: 'application/json' | typeof NOTED_JSON
}

/** So many characters are escaped in one go. */
const SLICE = 262_144
/** The bits that all first halves of a pair have above the others. */
const HIGH_SURROGATE = 0xd800 >> 10

/** How the text of a value with notes begins; whatever else begins so is looked at. */
const BEGINNING = `{${JSON.stringify(NOTED)}:`

/** The text of a stored value. Of one with notes, it is of the type that has them. */
export function packetText(value: unknown): PacketText {
  const noted = notesOf(value)
  if (noted !== undefined) return { text: JSON.stringify(noted), type: NOTED_JSON }
  return { text: value === undefined ? undefined : JSON.stringify(value), type: 'application/json' }
}

/** The JSON of a stored value without its notes. */
export function plainText(json: string): string {
  return json.startsWith(BEGINNING) ? JSON.stringify(plainValue(JSON.parse(json))) : json
}

/** The text of a value that is stored as this JSON, which is not parsed as a rule. */
export function storedPacketText(json: string | undefined): PacketText {
  if (json?.startsWith(BEGINNING) === true) return packetText(JSON.parse(json))
  return { text: json, type: 'application/json' }
}

/**
 * The JSON of an object with the text of a packet as its `output`. A text of quotes is an escape for each of its characters, which for
 * millions of them is made in slices.
 */
export async function packetJson(
  object: { readonly output?: string | undefined },
  turns: Turns,
): Promise<string> {
  const { output = '', ...rest } = object
  if (output.length <= SLICE) return JSON.stringify(object)
  const slices: string[] = []
  let from = 0
  while (from < output.length) {
    const slice = output.slice(from, endOfSlice(output, from))
    await turns.next(slice.length)
    slices.push(JSON.stringify(slice).slice(1, -1))
    from += slice.length
  }
  return `${JSON.stringify(rest).slice(0, -1)},"output":"${slices.join('')}"}`
}

/** Half of a pair would be escaped. */
function endOfSlice(text: string, from: number): number {
  const end = from + SLICE
  return text.charCodeAt(end - 1) >> 10 === HIGH_SURROGATE ? end - 1 : end
}
