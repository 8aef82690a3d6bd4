import {
  COUNT,
  json,
  arrayOf,
  named,
  object,
  type Operation,
  type OperationGroup,
  type Parameter,
  TEXT,
  FLAG,
} from '../operation.ts'
import { SKIPPABLE } from '../../core/namespaces/skippable-columns.ts'

const RUN: Parameter = { name: 'run', in: 'path', description: 'The id of a run.' }
const WORKERS =
  'The hosted service has workers that ask here. An engine executes its tasks itself: the answer is always 404, and says so.'

const operations: readonly Operation[] = [
  {
    id: 'publicTokenClaims',
    method: 'post',
    path: '/api/v1/auth/jwt/claims',
    tag: 'Access',
    summary: 'Claims of access tokens that the published client signs itself',
    allowed: 'secret key',
    answers: {
      200: { description: 'The claims.', content: json(object({ sub: TEXT, pub: { const: true } })) },
    },
  },
  {
    id: 'createPublicToken',
    method: 'post',
    path: '/api/v1/auth/public-tokens',
    tag: 'Access',
    summary: 'Sign an access token',
    allowed: 'secret key',
    body: { required: true, content: json(named('CreatePublicToken')) },
    answers: { 200: { description: 'The access token.', content: json(object({ token: TEXT })) } },
  },
  {
    id: 'waitForTokenAsWorker',
    method: 'post',
    path: '/engine/v1/runs/{run}/waitpoints/tokens/{id}/wait',
    tag: 'Access',
    summary: 'Not here: there are no workers',
    description: WORKERS,
    allowed: 'any',
    parameters: [RUN, { name: 'id', in: 'path', description: 'The id of a token.' }],
    answers: {},
    refused: [404],
  },
  {
    id: 'waitForDurationAsWorker',
    method: 'post',
    path: '/engine/v1/runs/{run}/wait/duration',
    tag: 'Access',
    summary: 'Not here: there are no workers',
    description: WORKERS,
    allowed: 'any',
    parameters: [RUN],
    answers: {},
    refused: [404],
  },
]

/** The operations that hand out access tokens, as they are documented. */
export const ACCESS_OPERATIONS: OperationGroup = {
  operations,
  schemas: {
    CreatePublicToken: {
      ...(object(
        { scopes: { ...(arrayOf(TEXT) as object), minItems: 1 } },
        {
          expirationTime: { anyOf: [TEXT, COUNT] },
          oneTimeUse: FLAG,
          realtime: object({}, { skipColumns: arrayOf({ type: 'string', enum: SKIPPABLE }) }),
        },
      ) as object),
      description:
        '`expirationTime` is a duration from now (`15m` by default) or seconds since 1970. `oneTimeUse`: it makes one change, such as one run, and then does nothing any more. `realtime.skipColumns`: columns of runs that it does not show. Other members are refused.',
    },
  },
}
