import {
  FROM_FILTER,
  PAGE_AFTER,
  PAGE_BEFORE,
  PAGE_SIZE,
  PERIOD_FILTER,
  TO_FILTER,
} from '../hosted/list-parameters.ts'
import type { Address } from '../hosted/addresses.ts'
import { ACCESS_TOKEN, ACCESS_TOKEN_CLAIMS, REQUEST_NAME } from '../hosted/headers.ts'
import type { MemberType } from '../hosted/members.ts'

/** A JSON schema, draft 2020-12. `#/components/schemas/…` refers to a named one of the document. */
export type Schema = boolean | { readonly [keyword: string]: unknown }

/** Something of the path, the query or the headers that a request may have. */
export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly description: string
  /** Default: only in the path. */
  readonly required?: boolean
  /** Default: a string. */
  readonly schema?: Schema
  /** Several at once, with commas between them. */
  readonly isList?: boolean
}

/** A body, by its media type. */
export type Content = Readonly<Record<string, Schema>>

/** The content of a response with one status. */
export interface Answer {
  readonly description: string
  readonly headers?: Readonly<Record<string, string>>
  readonly content?: Content
}

/** The statuses of refusals, with `{ "error": "…" }`. */
export type RefusedStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415 | 422 | 429

/**
 * The credentials of an operation besides a secret key: access tokens with one of some scopes; nothing (`secret key`); every
 * access token (`any`); every request, because the address itself is the credential (`address`); or every request (`open`).
 */
export type Allowed = readonly string[] | 'secret key' | 'any' | 'address' | 'open'

/** One route, as it is documented: docs/openapi.json is made of these. */
export interface Operation {
  readonly id: string
  readonly at: Address
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly allowed: Allowed
  /** What is said to other methods of its path, besides that they are not allowed. */
  readonly otherMethods?: string
  /** The access token may also be in the query, as `access_token`. */
  readonly mayHaveTokenInUrl?: boolean
  /** Browsers show the answers to pages of every origin. */
  readonly anyOrigin?: boolean
  readonly parameters?: readonly Parameter[]
  readonly body?: { readonly required: boolean; readonly content: Content }
  readonly answers: Readonly<Record<number, Answer>>
  /** Besides those that every operation of its kind has. */
  readonly refused?: readonly RefusedStatus[]
}

/** The operations of some routes, and the schemas that they name. */
export interface OperationGroup {
  readonly operations: readonly Operation[]
  readonly schemas: Readonly<Record<string, Schema>>
}

type Properties = Readonly<Record<string, Schema>>

/** The schema of an object with these members. */
export function object(required: Properties, optional: Properties = {}): Schema {
  const names = Object.keys(required)
  return {
    type: 'object',
    properties: { ...required, ...optional },
    ...(names.length === 0 ? {} : { required: names }),
  }
}

/** A schema of the document, by its name. */
export function named(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** A list of what a schema describes. */
export function arrayOf(items: Schema): Schema {
  return { type: 'array', items }
}

export const TEXT: Schema = { type: 'string' }
export const FLAG: Schema = { type: 'boolean' }
export const COUNT: Schema = { type: 'integer', minimum: 0 }
export const INSTANT: Schema = { type: 'string', format: 'date-time' }
export const JSON_OBJECT: Schema = { type: 'object', additionalProperties: true }
export const ANYTHING: Schema = {}

const SCHEMAS: Readonly<Record<MemberType, Schema>> = {
  text: TEXT,
  number: { type: 'number' },
  date: INSTANT,
}

/** Members as schemas. */
export function membersOf(members: Readonly<Record<string, MemberType>>): Readonly<Record<string, Schema>> {
  return Object.fromEntries(Object.entries(members).map(([name, type]) => [name, SCHEMAS[type]]))
}

/** A JSON body, or answer. */
export function json(schema: Schema): Content {
  return { 'application/json': schema }
}

/** A body of server-sent events. */
export const EVENTS: Content = { 'text/event-stream': TEXT }

/** The page of a list, and the instants between which what it lists was created. */
export const LIST_PARAMETERS: readonly Parameter[] = [
  {
    name: PERIOD_FILTER,
    in: 'query',
    description: 'Created within this duration until now, such as `1d`.',
  },
  {
    name: FROM_FILTER,
    in: 'query',
    description: 'Created at this instant or later: a date, or epoch milliseconds.',
  },
  {
    name: TO_FILTER,
    in: 'query',
    description: 'Created at this instant or earlier: a date, or epoch milliseconds.',
  },
  {
    name: PAGE_SIZE,
    in: 'query',
    description: 'Items of a page.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 25 },
  },
  { name: PAGE_AFTER, in: 'query', description: '`pagination.next` of a page: asks for the next one.' },
  {
    name: PAGE_BEFORE,
    in: 'query',
    description: '`pagination.previous` of a page: asks for the one before it.',
  },
]

/** A list as it is answered: `data`, newest first, and where its neighbours begin. */
export function pageOf(items: Schema): Schema {
  return object({ data: arrayOf(items), pagination: object({}, { next: TEXT, previous: TEXT }) })
}

/** The page of a list with numbered pages. */
export const OFFSET_PARAMETERS: readonly Parameter[] = [
  {
    name: 'page',
    in: 'query',
    description: 'The number of the page.',
    schema: { type: 'integer', minimum: 1, default: 1 },
  },
  {
    name: 'perPage',
    in: 'query',
    description: 'Items of a page; more than 100 are 100.',
    schema: { type: 'integer', minimum: 1, default: 20 },
  },
]

/** A page of a list with numbered pages. */
export function offsetPageOf(items: Schema): Schema {
  return object({
    data: arrayOf(items),
    pagination: object({ currentPage: COUNT, totalPages: COUNT, count: COUNT }),
  })
}

/** By which a request that is sent again is known. */
export const REPEATED: Parameter = {
  name: REQUEST_NAME,
  in: 'header',
  description:
    'A name for this request. Sent again under it, within minutes and to this handler, it gets the first answer.',
}

/** The headers by which a client gets an access token along with what it created. */
export const ACCESS_HEADERS: Readonly<Record<string, string>> = {
  [ACCESS_TOKEN]: 'An access token for what was created.',
  [ACCESS_TOKEN_CLAIMS]: 'The claims of access tokens that the published client signs itself, as JSON.',
}
