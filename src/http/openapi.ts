import { type Answer, type Content, named, object, type Operation, TEXT } from './operation.ts'
import { GROUPS } from './routes.ts'

/** An operation under its address, as OpenAPI writes it: `get` and `/api/v1/runs/{id}`. */
export interface AddressedOperation extends Operation {
  readonly method: string
  readonly path: string
}

/** Every operation of the handler. */
export const OPERATIONS: readonly AddressedOperation[] = GROUPS.flatMap(({ operations }) =>
  operations.map((operation) => {
    const [method = '', path = ''] = operation.at.split(' ')
    return {
      ...operation,
      method: method.toLowerCase(),
      path: path.replace(/:(\w+)(\{\.\+\})?/g, '{$1}'),
    }
  }),
)

/** The meaning of each status. The answers are `{ "error": "…" }`. */
const REFUSALS = {
  400: ['BadRequest', 'The request cannot be read, or asks for something that cannot be.'],
  401: ['Unauthorized', 'There is no credential, or it proves nothing: it is wrong, expired or used up.'],
  403: ['Forbidden', 'The credential does not allow this.'],
  404: ['NotFound', 'It does not exist.'],
  409: ['Conflict', 'It is executed by another process, or changed meanwhile.'],
  413: ['TooLarge', 'The body is beyond its limit.'],
  415: ['Encoded', 'The body is compressed or encoded: `content-encoding` may be `identity` only.'],
  422: ['Unprocessable', 'The request can be read, and cannot be done.'],
  429: [
    'TooMany',
    'The credential asks too often, or for too much at once. `retry-after` says when to come again.',
  ],
  500: ['InternalError', 'A fault of the server; it is an `error` event of the engine.'],
  503: ['Unavailable', 'The engine is closed, or not well.'],
} as const

type Refused = keyof typeof REFUSALS

/** A part of the document. */
type Part = Readonly<Record<string, unknown>>

/** The HTTP API as an OpenAPI 3.1 document: docs/openapi.json. It is made of the routes that answer. */
export function openApiDocument(version: string): Part {
  const paths: Record<string, Record<string, Part>> = {}
  for (const operation of OPERATIONS)
    (paths[operation.path] ??= {})[operation.method] = operationPart(operation)
  return {
    openapi: '3.1.0',
    info: {
      title: 'waitpoint',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'The HTTP API of an engine, as `createHandler` and `serve` answer it. Paths are below the base path of the handler. A method that a path does not have is answered with 405.',
    },
    servers: [{ url: '/' }],
    security: [{ secretKey: [] }],
    paths,
    components: {
      securitySchemes: {
        secretKey: { type: 'http', scheme: 'bearer', description: 'A `secretKey` of the engine.' },
        accessToken: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'An access token with one of the scopes.',
        },
        accessTokenInUrl: { type: 'apiKey', in: 'query', name: 'access_token' },
      },
      responses: Object.fromEntries(
        Object.entries(REFUSALS).map(([, [name, description]]) => [
          name,
          { description, content: contentPart({ 'application/json': named('Error') }) },
        ]),
      ),
      schemas: {
        Error: object({ error: TEXT }, { code: TEXT, param: TEXT, type: TEXT }),
        ...Object.assign({}, ...GROUPS.map(({ schemas }) => schemas)),
      } as Part,
    },
  }
}

function operationPart(operation: Operation): Part {
  const { id, tag, summary, description, parameters = [], body, answers } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(operation),
    ...(parameters.length === 0 ? {} : { parameters: parameters.map(parameterPart) }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: body.required, content: contentPart(body.content) } }),
    responses: {
      ...Object.fromEntries(
        refusedBy(operation).map((status) => [
          status,
          { $ref: `#/components/responses/${REFUSALS[status][0]}` },
        ]),
      ),
      // An operation may say more of how it refuses.
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerPart(answer)])),
    },
  }
}

function securityOf({ allowed, mayHaveTokenInUrl = false }: Operation): readonly Part[] {
  if (allowed === 'address' || allowed === 'open') return []
  if (allowed === 'secret key') return [{ secretKey: [] }]
  const scopes = allowed === 'any' ? [] : allowed
  return [
    { secretKey: [] },
    { accessToken: scopes },
    ...(mayHaveTokenInUrl ? [{ accessTokenInUrl: scopes }] : []),
  ]
}

/** The statuses with which an operation can be refused. */
function refusedBy({ allowed, body, refused = [] }: Operation): readonly Refused[] {
  if (allowed === 'open') return [503]
  const statuses = new Set<Refused>([401, 429, 500, 503, ...refused])
  if (allowed !== 'address' && allowed !== 'any') statuses.add(403)
  if (body !== undefined) statuses.add(400).add(413).add(415)
  return [...statuses].sort((a, b) => a - b)
}

function parameterPart({
  isList = false,
  schema = TEXT,
  ...parameter
}: NonNullable<Operation['parameters']>[number]): Part {
  return {
    name: parameter.name,
    in: parameter.in,
    required: parameter.required ?? parameter.in === 'path',
    description: parameter.description,
    schema: isList ? { type: 'array', items: schema } : schema,
    ...(isList ? { style: 'form', explode: false } : {}),
  }
}

function answerPart({ description, headers = {}, content }: Answer): Part {
  const described = Object.entries(headers).map(([name, text]) => [name, { description: text, schema: TEXT }])
  return {
    description,
    ...(described.length === 0 ? {} : { headers: Object.fromEntries(described) as Part }),
    ...(content === undefined ? {} : { content: contentPart(content) }),
  }
}

function contentPart(content: Content): Part {
  return Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }]))
}
