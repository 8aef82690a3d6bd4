import { isDeepStrictEqual } from 'node:util'
import { toJson } from '../../core/host/serialize.ts'
import { show } from '../../primitives/require.ts'
import { type JsonObject, requireJsonObject } from '../requests/json-body.ts'
import { Refusal } from '../refusal.ts'

/** Computes the new metadata from the old. */
export type MetadataChange = (before: JsonObject) => JsonObject

const NAMES = ['metadata', 'operations']
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
  const replace = metadata === undefined ? [] : [replaceBy(requireJsonObject(metadata, '"metadata"'))]
  const changes = [...replace, ...operations.map(readOperation)]
  return (before) => changes.reduce((values, change) => change(values), before)
}

function replaceBy(values: JsonObject): MetadataChange {
  return () => values
}

function readOperation(given: unknown): MetadataChange {
  const operation = requireJsonObject(given, 'an operation')
  const { type, value } = operation
  if (type === 'update') return replaceBy(requireJsonObject(value, 'the value of "update"'))
  const key = readKey(operation['key'])
  if (value === undefined && type !== 'delete')
    throw new Refusal(400, `Validation error: the operation ${show(type)} takes a value`)
  switch (type) {
    case 'delete':
      return ({ [key]: _, ...others }) => others
    case 'set':
      return changeOf(key, () => value)
    case 'append':
      return changeOf(key, (before) => appended(before, value))
    case 'remove':
      // Deeper metadata than can be stored could not be compared.
      toJson(value, 'metadata')
      return changeOf(key, (before) => removed(before, value))
    case 'increment':
      if (typeof value !== 'number') throw new Refusal(400, 'Validation error: "increment" takes a number')
      return changeOf(key, (before) => (typeof before === 'number' ? before : 0) + value)
    default:
      throw new Refusal(400, `Validation error: unknown operation ${show(type)}; use ${TYPES.join(', ')}`)
  }
}

function readKey(key: unknown): string {
  if (typeof key === 'string' && !key.startsWith('$.')) return key
  throw new Refusal(
    400,
    `Cannot use ${show(key)} as a key of the metadata: it must be a string, and not a path such as "$.a"`,
  )
}

/**
 * In an object literal, unlike in an assignment, `__proto__` is an ordinary key. A member that stays undefined is not
 * added.
 */
function changeOf(key: string, next: (before: unknown) => unknown): MetadataChange {
  return (values) => {
    const value = next(Object.hasOwn(values, key) ? values[key] : undefined)
    return value === undefined ? values : { ...values, [key]: value }
  }
}

function appended(before: unknown, value: unknown): readonly unknown[] {
  if (before === undefined) return [value]
  return Array.isArray(before) ? [...(before as readonly unknown[]), value] : [before, value]
}

function removed(before: unknown, value: unknown): unknown {
  if (!Array.isArray(before)) return before
  return before.filter((item) => !isDeepStrictEqual(item, value))
}
