/** How many items or properties of a value are shown. */
const MOST_SHOWN = 6

/** Any value, in a message: on one line, strings in double quotes, what is inside of objects only by its kind. */
export function show(value: unknown): string {
  try {
    if (typeof value !== 'object' || value === null || value instanceof Date) return showInner(value)
    const parts = Array.isArray(value)
      ? value.map(showInner)
      : Object.entries(value).map(([name, inner]) => `${name}: ${showInner(inner)}`)
    const shown = [...parts.slice(0, MOST_SHOWN), ...(parts.length > MOST_SHOWN ? ['…'] : [])].join(', ')
    return Array.isArray(value) ? `[ ${shown} ]` : `{ ${shown} }`
  } catch {
    // A getter or a proxy of theirs threw.
    return '[Object]'
  }
}

function showInner(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'function') return '[Function]'
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : String(value.getTime())
  if (typeof value !== 'object' || value === null) return String(value)
  return Array.isArray(value) ? '[Array]' : '[Object]'
}
