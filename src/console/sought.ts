import { plainValue } from '../api/noted-value.ts'
import { fromJson } from '../api/serialize.ts'
import type { RunRecord } from '../contract/records.ts'
import { readOverrides } from '../core/inside.ts'

/** The values of a run whose members can be looked for. */
const VALUES = ['payload', 'metadata'] as const
type ValueName = (typeof VALUES)[number]

/** What runs are looked for by that no storage lists them by. */
export interface Sought {
  readonly queue?: string | undefined
  /** In what the run says, was given and has answered, in capitals or not. */
  readonly text?: string | undefined
  /** Members of values, by their paths, such as `payload.customer.id`. */
  readonly members: readonly (readonly [path: string, value: string])[]
}

/** Whether a name is that of a member of a value of a run: `payload.customer`. */
export function isMemberName(name: string): boolean {
  return VALUES.some((value) => name.startsWith(`${value}.`) && name.length > value.length + 1)
}

/** How many characters of a run are looked at. */
export function sizeOfSought({ payloadJson, outputJson, metadataJson, errorJson }: RunRecord): number {
  return [payloadJson, outputJson, metadataJson, errorJson].reduce(
    (sum, json) => sum + (json?.length ?? 0),
    0,
  )
}

export function isSought(record: RunRecord, { queue, text, members }: Sought): boolean {
  if (queue !== undefined && record.queue !== queue) return false
  if (text !== undefined && !hasText(record, text)) return false
  return members.every(([path, value]) => hasMember(record, path, value))
}

function hasText(record: RunRecord, text: string): boolean {
  const { payloadJson, outputJson, metadataJson, errorJson, optionsJson } = record
  const { title } = readOverrides(optionsJson)
  if (title?.toLowerCase().includes(text.toLowerCase()) === true) return true
  const sought = asInJson(text).toLowerCase()
  return [errorJson, payloadJson, metadataJson, outputJson].some((json) =>
    json?.toLowerCase().includes(sought),
  )
}

function hasMember(record: RunRecord, path: string, value: string): boolean {
  const [of, ...names] = path.split('.')
  const json = of === ('payload' satisfies ValueName) ? record.payloadJson : record.metadataJson
  // To read it takes longer than to see that it is not there.
  if (json?.includes(asInJson(value)) !== true) return false
  let member: unknown = plainValue(fromJson(json))
  for (const name of names) {
    if (typeof member !== 'object' || member === null || !Object.hasOwn(member, name)) return false
    member = (member as Readonly<Record<string, unknown>>)[name]
  }
  return Array.isArray(member) ? member.some((each) => isText(each, value)) : isText(member, value)
}

function isText(member: unknown, value: string): boolean {
  return typeof member === 'string' ? member === value : JSON.stringify(member) === value
}

/** A text as it stands within the texts of JSON. */
function asInJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
