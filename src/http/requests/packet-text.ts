import { NOTED, notesOf, plainValue } from '../../api/noted-value.ts'
import { NOTED_JSON } from '../../hosted/packets.ts'

/** A value as text of a type that the published client reads. */
export interface PacketText {
  readonly text: string | undefined
  readonly type: 'application/json' | typeof NOTED_JSON
}

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
