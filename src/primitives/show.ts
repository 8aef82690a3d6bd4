/** How many items or properties of a value are shown; the rest is only hinted at. */
const MOST_SHOWN = 6

/** Any value, in a message: on one line, strings in double quotes, what is inside of objects only by its kind. */
export function show(value: unknown): string {
  try {
    if (typeof value === 'string') return JSON.stringify(value)
    return typeof value === 'object' && value !== null ? showObject(value) : showScalar(value)
  } catch {
    // A getter or a proxy of theirs threw.
    return '[Object]'
  }
}

function showScalar(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  return typeof value === 'function' ? `[Function: ${value.name || '(anonymous)'}]` : String(value)
}

function showObject(value: object): string {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof Error) return `[${value.name}: ${value.message}]`.replace(/\s+/g, ' ')
  if (Array.isArray(value)) return inBrackets('[', value.map(showInner), ']')
  const properties = Object.entries(value).map(([name, inner]) => `${name}: ${showInner(inner)}`)
  return className(value) + inBrackets('{', properties, '}')
}

function showInner(value: unknown): string {
  if (typeof value === 'string') return `'${JSON.stringify(value).slice(1, -1)}'`
  if (typeof value !== 'object' || value === null) return showScalar(value)
  return Array.isArray(value) ? '[Array]' : `[${className(value).trim() || 'Object'}]`
}

function inBrackets(open: string, shown: readonly string[], close: string): string {
  if (shown.length === 0) return open + close
  const rest = shown.length > MOST_SHOWN ? [`… ${shown.length - MOST_SHOWN} more`] : []
  return `${open} ${[...shown.slice(0, MOST_SHOWN), ...rest].join(', ')} ${close}`
}

/** `Map ` for a map, nothing for a plain object. */
function className(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return ''
  const { name } = value.constructor
  return typeof name === 'string' && name !== '' ? `${name} ` : ''
}
