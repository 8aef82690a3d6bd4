import {
  ACCESS_HEADERS,
  ANYTHING,
  COUNT,
  FLAG,
  INSTANT,
  json,
  LIST_PARAMETERS,
  arrayOf,
  named,
  object,
  type Operation,
  type OperationGroup,
  pageOf,
  type Parameter,
  REPEATED,
  type Schema,
  TEXT,
} from '../operation.ts'

const ID: Parameter = { name: 'id', in: 'path', description: 'The id of the token: `waitpoint_…`.' }
const DURATION: Schema = { anyOf: [TEXT, COUNT] }
const LABELS: Schema = { anyOf: [TEXT, arrayOf(TEXT)] }
const COMPLETED = { description: 'Settled, by this request or before.', content: json(named('Completed')) }

const TOKEN = { id: TEXT, url: TEXT, status: named('TokenStatus'), tags: arrayOf(TEXT) }
const INSTANTS = { createdAt: INSTANT, timeoutAt: INSTANT }
const LATER = {
  completedAt: INSTANT,
  idempotencyKey: TEXT,
  idempotencyKeyExpiresAt: INSTANT,
  runId: TEXT,
}

const operations: readonly Operation[] = [
  {
    id: 'createToken',
    method: 'post',
    path: '/api/v1/waitpoints/tokens',
    tag: 'Tokens',
    summary: 'Create a token',
    description:
      'With an `idempotencyKey` that was used and has not expired, answers the token it named first.',
    allowed: 'secret key',
    parameters: [REPEATED],
    body: { required: true, content: json(named('CreateToken')) },
    answers: {
      200: { description: 'The token.', headers: ACCESS_HEADERS, content: json(named('CreatedToken')) },
    },
    refused: [422],
  },
  {
    id: 'listTokens',
    method: 'get',
    path: '/api/v1/waitpoints/tokens',
    tag: 'Tokens',
    summary: 'List tokens',
    description: 'Newest first, without their outputs. A `filter` or `page` that does not exist is refused.',
    allowed: ['read:waitpoints'],
    parameters: [
      {
        name: 'filter[status]',
        in: 'query',
        description: 'Any of these statuses.',
        isList: true,
        schema: named('TokenStatus'),
      },
      { name: 'filter[tags]', in: 'query', description: 'Any of these tags.', isList: true },
      { name: 'filter[idempotencyKey]', in: 'query', description: 'With this key.' },
      ...LIST_PARAMETERS,
    ],
    answers: { 200: { description: 'A page of tokens.', content: json(pageOf(named('Token'))) } },
    refused: [400],
  },
  {
    id: 'retrieveToken',
    method: 'get',
    path: '/api/v1/waitpoints/tokens/{id}',
    tag: 'Tokens',
    summary: 'Read a token and its output',
    allowed: ['read:waitpoints:<id>'],
    parameters: [ID],
    answers: { 200: { description: 'The token.', content: json(named('RetrievedToken')) } },
    refused: [404],
  },
  {
    id: 'completeToken',
    method: 'post',
    path: '/api/v1/waitpoints/tokens/{id}/complete',
    tag: 'Tokens',
    summary: 'Complete a token',
    description:
      'The first completion wins; `success` says whether it was this one. A settled token does not change. Requests with the header `trigger-version`, as the published client sends it, always get `success: true`.',
    allowed: ['write:waitpoints:<id>'],
    anyOrigin: true,
    parameters: [ID, REPEATED],
    body: { required: true, content: json(named('CompleteToken')) },
    answers: { 200: COMPLETED },
    refused: [404],
  },
  {
    id: 'completeTokenByUrl',
    method: 'post',
    path: '/api/v1/waitpoints/tokens/{id}/callback/{hash}',
    tag: 'Tokens',
    summary: 'Complete a token by its URL',
    description:
      'The address is `token.url`. The body is the output: JSON as it is; form fields as an object; other text as a string; no body as `{}`.',
    allowed: 'address',
    parameters: [
      ID,
      { name: 'hash', in: 'path', description: 'Proves that the engine gave the address out.' },
    ],
    body: {
      required: false,
      content: {
        'application/json': ANYTHING,
        'application/x-www-form-urlencoded': { type: 'object', additionalProperties: true },
        'multipart/form-data': { type: 'object', additionalProperties: true },
        'text/plain': TEXT,
      },
    },
    answers: { 200: COMPLETED },
    refused: [404],
  },
]

/** Tokens over HTTP, as they are documented. */
export const TOKEN_OPERATIONS: OperationGroup = {
  operations,
  schemas: {
    TokenStatus: { type: 'string', enum: ['WAITING', 'COMPLETED', 'TIMED_OUT'] },
    CreateToken: {
      ...(object(
        {},
        { timeout: DURATION, idempotencyKey: TEXT, idempotencyKeyTTL: DURATION, tags: LABELS },
      ) as object),
      description: '`timeout` is a duration (`24h`, milliseconds) or an ISO 8601 date; `10m` by default.',
    },
    CreatedToken: object({ id: TEXT, isCached: FLAG, url: TEXT, publicAccessToken: TEXT }),
    CompleteToken: {
      ...(object({}, { output: ANYTHING, data: ANYTHING }) as object),
      description:
        'Either `output` or `data`, which is what the published client calls it: any JSON value. `{}` completes without an output.',
      not: { required: ['output', 'data'], properties: { output: ANYTHING, data: ANYTHING } },
    },
    Completed: object({ success: FLAG, status: named('TokenStatus') }),
    Token: object({ ...TOKEN, ...INSTANTS }, LATER),
    RetrievedToken: {
      ...(object(
        { ...TOKEN, ...INSTANTS, outputType: TEXT, outputIsError: FLAG },
        { ...LATER, output: TEXT, waitingRuns: arrayOf(TEXT) },
      ) as object),
      description:
        '`output` is JSON text. Of a token that timed out it is the error, and `outputIsError` is true.',
    },
  },
}
