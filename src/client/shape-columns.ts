/** Types of columns, as the realtime protocol announces them. */
export type ShapeSchema = Readonly<Record<string, { readonly type?: string; readonly dims?: number }>>

/** The schema in a header; an empty one when there is none that can be read. */
export function readSchema(header: string | null): ShapeSchema {
  try {
    return Object(JSON.parse(header ?? '{}')) as ShapeSchema
  } catch {
    return {}
  }
}

/** Columns with the values their types say; what has no type, or is no text, is taken as it is. */
export function readColumns(
  columns: Readonly<Record<string, unknown>>,
  schema: ShapeSchema,
): Record<string, unknown> {
  const entries = Object.entries(columns).map(([name, value]) => {
    const column = schema[name]
    return [name, typeof value === 'string' && column !== undefined ? readColumn(value, column) : value]
  })
  return Object.fromEntries(entries) as Record<string, unknown>
}

function readColumn(text: string, { type = 'text', dims = 0 }: ShapeSchema[string] & object): unknown {
  if (dims > 0) return readArray(text)
  if (/^(?:int|float)\d$/.test(type)) return Number(text)
  if (type === 'bool') return text === 't' || text === 'true'
  return type === 'json' || type === 'jsonb' ? JSON.parse(text) : text
}

/** An array of texts as Postgres writes it: `{plain,"with \"quotes\""}`. */
function readArray(text: string): readonly string[] {
  const items = text.slice(1, -1).match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? []
  return items.map((item) => (item.startsWith('"') ? item.slice(1, -1).replace(/\\(.)/g, '$1') : item))
}
