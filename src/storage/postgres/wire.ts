const ESCAPE = '\u0001'
/** Characters that Postgres cannot keep in a text, as `JSON.stringify` writes them, and halves of surrogate pairs. */
const SUSPECT = /\\u0000|\\u0001|\\ud[89a-f]/
const ESCAPED = /\\u0001/

/** A request as JSON that Postgres takes: texts it cannot keep are escaped. */
export function toWire(request: unknown): string {
  const text = JSON.stringify(request)
  return SUSPECT.test(text) ? JSON.stringify(request, escapeText) : text
}

/** Parses an answer and restores the escaped characters of its texts. */
export function fromWire(text: string): unknown {
  return JSON.parse(text, ESCAPED.test(text) ? restoreText : undefined)
}

function escapeText(_name: string, value: unknown): unknown {
  if (typeof value === 'string') return escaped(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  // Limits and versions are objects by the names of queues and tasks.
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [escaped(name), each as unknown]))
}

function escaped(text: string): string {
  return mustEscape(text) ? ESCAPE + JSON.stringify(text) : text
}

function restoreText(_name: string, value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith(ESCAPE)) return value
  return JSON.parse(value.slice(ESCAPE.length))
}

function mustEscape(text: string): boolean {
  return text.startsWith(ESCAPE) || text.includes('\0') || !isWellFormed(text)
}

/** Whether no surrogate stands alone: half of a pair has no bytes. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}
