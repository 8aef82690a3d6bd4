import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

interface Schema {
  readonly [keyword: string]: unknown
}
interface Referring {
  readonly $ref?: string
}
interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: Schema
  readonly explode?: boolean
}
interface Body {
  readonly required?: boolean
  readonly content?: Readonly<Record<string, { readonly schema: Schema | boolean }>>
}
export interface DocumentedOperation {
  readonly operationId: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Body & Referring>>
}
interface OpenApi {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export const openApi = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as OpenApi

/** A route of the handler, such as `GET /api/v1/runs/:id`, as the document names it. */
export function documentedRoute(route: string): readonly [method: string, path: string] {
  const [method = '', path = ''] = route.split(' ')
  return [method.toLowerCase(), path.replace(/:(\w+)(?:\{[^}]*\})?/g, '{$1}')]
}

function operationOf(route: string): DocumentedOperation {
  const [method, path] = documentedRoute(route)
  const operation = openApi.paths[path]?.[method]
  if (operation === undefined) throw new Error(`docs/openapi.json has no ${route}`)
  return operation
}

const ajv = new Ajv2020({
  strict: true,
  strictRequired: false,
  allErrors: true,
  formats: { 'date-time': (text: string) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) },
})
ajv.addVocabulary(['components'])

/** Objects of answers have no members but those that the document names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]))
  return 'properties' in parts && !('additionalProperties' in parts)
    ? { ...parts, additionalProperties: false }
    : parts
}

const openComponents = openApi.components
const closedComponents = closed(openApi.components) as Schema
const compiled = new Map<string, ValidateFunction>()

/** What is wrong with a value by a schema of the document. */
function problemsOf(value: unknown, schema: Schema | boolean, isAnswer: boolean): string {
  const name = `${isAnswer} ${JSON.stringify(schema)}`
  const components = isAnswer ? closedComponents : openComponents
  const own = isAnswer ? closed(schema) : schema
  const validate =
    compiled.get(name) ?? ajv.compile(typeof own === 'boolean' ? own : { ...(own as Schema), components })
  compiled.set(name, validate)
  return validate(value) ? '' : ajv.errorsText(validate.errors)
}

export interface SeenAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** What an answer has that the document does not say; nothing when it is as documented. */
export function undocumented(route: string, { status, headers, text }: SeenAnswer): string | undefined {
  const found = operationOf(route).responses[status]
  if (found === undefined) return `${route} answered ${status}, which is not documented: ${text}`
  const response = found.$ref === undefined ? found : (resolved(found.$ref) as Body)
  const type = headers.get('content-type')?.split(';')[0]
  if (response.content === undefined) return text === '' ? undefined : `${route} answered ${text}`
  const content = response.content[type ?? '']
  if (content === undefined) return `${route} answered ${status} with ${type}, which is not documented`
  const value: unknown = type === 'application/json' ? JSON.parse(text) : text
  const problems = problemsOf(value, content.schema, true)
  return problems === '' ? undefined : `${route} answered ${status} with ${text}: ${problems}`
}

/** What a request has that the document does not allow. */
export function unfit(
  route: string,
  { url, body }: { readonly url: URL; readonly body: unknown },
): string | undefined {
  const { parameters = [], requestBody } = operationOf(route)
  for (const { name, schema, explode } of parameters.filter((each) => each.in === 'query')) {
    const text = url.searchParams.get(name)
    if (text === null) continue
    const problems = problemsOf(explode === false ? text.split(',') : parsed(text, schema), schema, false)
    if (problems !== '') return `${name}: ${problems}`
  }
  const known = parameters.map(({ name }) => name)
  const unknown = [...url.searchParams.keys()].find((name) => !known.includes(name))
  if (unknown !== undefined) return `${unknown} is no parameter`
  if (body === undefined) return requestBody?.required === true ? 'it has no body' : undefined
  const content = requestBody?.content ?? {}
  const schema = content['application/json']?.schema ?? (Object.keys(content).length > 0 ? true : false)
  return problemsOf(body, schema, false) || undefined
}

function parsed(text: string, { type }: Schema): unknown {
  return type === 'integer' || type === 'boolean' ? (JSON.parse(text) as unknown) : text
}

function resolved(reference: string): unknown {
  const names = reference.split('/').slice(1)
  return names.reduce<unknown>((part, name) => (part as Schema)[name], openApi)
}

/** Every `$ref` of the document, and whether it leads somewhere. */
export function brokenReferences(part: unknown = openApi): readonly string[] {
  if (typeof part !== 'object' || part === null) return []
  const { $ref } = part as Referring
  const own = $ref !== undefined && resolved($ref) === undefined ? [$ref] : []
  return [...own, ...Object.values(part).flatMap(brokenReferences)]
}
