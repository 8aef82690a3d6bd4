import type { OutputUnit } from '@cfworker/json-schema'
import type { AnswerIssue } from '../api/question.ts'

type Path = AnswerIssue['path']

const MOST_ISSUES = 20
/** Values of an answer among which a text is looked for. */
const MOST_VALUES = 1_000
/** How names of formats begin that are patterns. */
export const PATTERN = 'pattern '

/** The innermost reasons, one for each place. */
export function issuesOf(errors: readonly OutputUnit[]): readonly AnswerIssue[] {
  const inner = errors.filter(({ keyword }) => !OUTER.has(keyword))
  const issues = new Map<string, AnswerIssue>()
  for (const { instanceLocation, keyword, error } of inner.length === 0 ? errors : inner) {
    if (issues.has(instanceLocation) || issues.size === MOST_ISSUES) continue
    const isPattern = keyword === 'format' && error.includes(`"${PATTERN}`)
    const message = isPattern ? 'String does not match pattern.' : error
    issues.set(instanceLocation, { path: pathOf(instanceLocation), message })
  }
  return [...issues.values()]
}

/** Keywords that say only that a part below them does not fit. */
const OUTER: ReadonlySet<string> = new Set([
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  'properties',
  'patternProperties',
  'additionalProperties',
  'items',
  'prefixItems',
  'dependentSchemas',
  'propertyNames',
  'if',
])

function pathOf(location: string): readonly (string | number)[] {
  return location
    .split('/')
    .slice(1)
    .map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((name) => (/^(?:0|[1-9]\d*)$/.test(name) ? Number(name) : name))
}

/** Where a text is in an answer; the answer itself if it is not among its first values. */
export function pathTo(text: string | undefined, answer: unknown): Path {
  const values: { readonly value: unknown; readonly path: Path }[] = [{ value: answer, path: [] }]
  for (const { value, path } of values) {
    if (value === text) return path
    if (typeof value !== 'object' || value === null) continue
    const members = Array.isArray(value) ? value.slice(0, MOST_VALUES).entries() : Object.entries(value)
    for (const [name, member] of members)
      if (values.length < MOST_VALUES) values.push({ value: member, path: [...path, name] })
  }
  return []
}
