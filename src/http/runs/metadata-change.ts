import { notSerializable } from '../../api/serialize.ts'
import { measureJson } from '../../primitives/json.ts'
import { valuesByKey } from '../../primitives/values-by-key.ts'
import { show } from '../../primitives/require.ts'
import type { MetadataValues } from '../../core/inside.ts'
import { type JsonObject, requireJsonObject } from '../requests/json-body.ts'
import { MetadataDraft } from './metadata-draft.ts'
import { Refusal } from '../refusal.ts'

/** Computes the new metadata from the old, which stay as they are; with a number that no sender knows. */
export type MetadataChange = (before: MetadataValues, seed: number) => Map<string, unknown>

const NAMES = ['metadata', 'operations']
const MOST_OPERATIONS = 10_000
const TYPES = ['set', 'delete', 'append', 'remove', 'increment', 'update']

/**
 * Reads `{ metadata?, operations? }`. The metadata are replaced first; then the operations are applied in order.
 *
 * @throws Refusal 400 for a body that is not such a change; nothing has changed by then.
 */
export function readMetadataChange(body: JsonObject): MetadataChange {
  const unknown = Object.keys(body).find((name) => !NAMES.includes(name))
  if (unknown !== undefined)
    throw new Refusal(400, `Validation error: unknown member ${show(unknown)}; use ${NAMES.join(' and ')}`)
  const { metadata, operations = [] } = body
  if (!Array.isArray(operations)) throw new Refusal(400, 'Validation error: "operations" must be a list')
  if (operations.length > MOST_OPERATIONS)
    throw new Refusal(413, `Request body too large: it may have ${MOST_OPERATIONS} operations`)
  const replace = metadata === undefined ? [] : [replaceBy(metadata, '"metadata"')]
  const changes = [...replace, ...operations.map(readOperation)]
  return (before, seed) => {
    const draft = new MetadataDraft(before, seed)
    for (const change of changes) change(draft)
    return draft.take()
  }
}

/** One operation. It was checked: what it sets is JSON, not too deep in its place either. */
type Operation = (draft: MetadataDraft) => void

function replaceBy(value: unknown, what: string): Operation {
  const values = valuesByKey(requireJsonObject(requireJson(value), what))
  return (draft) => draft.replace(values)
}

function readOperation(given: unknown): Operation {
  const operation = requireJsonObject(given, 'an operation')
  const { type, value } = operation
  if (type === 'update') return replaceBy(value, 'the value of "update"')
  const key = readKey(operation['key'])
  if (value === undefined && type !== 'delete')
    throw new Refusal(400, `Validation error: the operation ${show(type)} takes a value`)
  switch (type) {
    case 'delete':
      return (draft) => draft.delete(key)
    case 'set':
      requireJson({ [key]: value })
      return (draft) => draft.set(key, value)
    case 'append':
      requireJson({ [key]: [value] })
      return (draft) => draft.append(key, value)
    case 'remove':
      requireJson(value)
      return (draft) => draft.remove(key, value)
    case 'increment':
      if (typeof value !== 'number') throw new Refusal(400, 'Validation error: "increment" takes a number')
      return (draft) => draft.increment(key, value)
    default:
      throw new Refusal(400, `Validation error: unknown operation ${show(type)}; use ${TYPES.join(', ')}`)
  }
}

/** A value that can be stored: a deeper one could not be compared either. */
function requireJson(value: unknown): unknown {
  if (value !== undefined && measureJson(value) < 0) throw notSerializable(value, 'metadata')
  return value
}

function readKey(key: unknown): string {
  if (typeof key === 'string' && !key.startsWith('$.')) return key
  throw new Refusal(
    400,
    `Cannot use ${show(key)} as a key of the metadata: it must be a string, and not a path such as "$.a"`,
  )
}
