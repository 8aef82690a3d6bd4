import { SuperJSON } from 'superjson'
import { notesOf, plainValue, withNotes } from '../../api/noted-value.ts'
import { measureJson } from '../../primitives/json.ts'

/** With buffers, as the hosted service has them. */
const superjson = new SuperJSON()
superjson.registerCustom<Buffer, number[]>(
  {
    isApplicable: (value): value is Buffer => Buffer.isBuffer(value),
    serialize: (buffer) => [...buffer],
    deserialize: (bytes) => Buffer.from(bytes),
  },
  'buffer',
)

type Noted = ReturnType<SuperJSON['serialize']>

/**
 * A payload or an output as it is stored: a JSON value as it is, any other with notes on its dates, maps, sets, bigints and
 * missing values, so that {@link decodeValue} gives it back as it was.
 */
export function encodeValue(value: unknown): unknown {
  if (value === undefined || (isPlain(value, DEEPEST) && notesOf(value) === undefined)) return value
  const { json, meta } = superjson.serialize(value)
  // Instances of classes are plain objects afterwards, as for the hosted service; functions are left out.
  const plain: unknown = measureJson(json) < 0 ? asJson(json) : json
  return withNotes({ json: plain, meta })
}

/** The value that {@link encodeValue} was given. A value that was stored by other means is answered as it is. */
export function decodeValue(stored: unknown): unknown {
  const noted = notesOf(stored)
  // Notes that are not those of superjson are an error of the payload.
  return noted === undefined ? stored : superjson.deserialize(noted as Noted)
}

/** For a list, which a value that cannot be read does not fail: its JSON stands for it. */
export function readableValue(stored: unknown): unknown {
  try {
    return decodeValue(stored)
  } catch {
    return plainValue(stored)
  }
}

/** Deeper values are left to superjson, which knows cycles. */
const DEEPEST = 32

/** Whether JSON tells all of a value: most values, which cost no more than this look at them. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object' || depth === 0) return false
  if (Array.isArray(value)) {
    // By index: `every` would leave out holes.
    for (let index = 0; index < value.length; index += 1) if (!isPlain(value[index], depth - 1)) return false
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype && Object.values(value).every((item) => isPlain(item, depth - 1))
}

/** What is left of a value in JSON: a date is a text, an infinite number `null`. `undefined` for what JSON leaves out, such as a function. */
export function asJson(value: unknown): unknown {
  const text = JSON.stringify(value) as string | undefined
  return text === undefined ? undefined : JSON.parse(text)
}
