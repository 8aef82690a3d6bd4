import { SKIPPABLE } from '../hosted/skippable-columns.ts'
import { CREATE_PUBLIC_TOKEN_ADDRESS } from '../hosted/addresses.ts'
import {
  arrayOf,
  COUNT,
  FLAG,
  json,
  named,
  object,
  type OperationGroup,
  type Parameter,
  TEXT,
} from './operation.ts'
import { Refusal } from './refusal.ts'
import { readJsonObject } from './requests/json-body.ts'
import { refusingWrongInput } from './requests/wrong-input.ts'
import { group, type Route, route, type RouteGroup } from './route.ts'
import type { RouteContext } from './route-context.ts'
import { PUBLIC_CLAIMS } from '../hosted/access-token.ts'
import { readAccessTokenBody } from './access/token.ts'

const RUN: Parameter = { name: 'run', in: 'path', description: 'The id of a run.' }
const WORKERS =
  'The hosted service has workers that ask here. An engine executes its tasks itself: the answer is always 404, and says so.'

/** Where workers of the service create waits. An engine has no workers: the answer says what to use instead. */
const refuseWorkers = () => (): never => {
  throw new Refusal(
    404,
    'Workers are not supported: tasks run in the process of the engine, and wait there with wait.forToken(), wait.for() or streams.input().wait()',
  )
}

/** What the hosted service has for workers alone. */
function ofWorkers(at: `POST /${string}`, id: string, parameters: readonly Parameter[]): Route<RouteContext> {
  const said = { tag: 'Access', summary: 'Not here: there are no workers', description: WORKERS } as const
  return route(at, { id, ...said, allowed: 'any', parameters, answers: {}, refused: [404] }, refuseWorkers)
}

const routes: readonly Route<RouteContext>[] = [
  route(
    'POST /api/v1/auth/jwt/claims',
    {
      id: 'publicTokenClaims',
      tag: 'Access',
      summary: 'Claims of access tokens that the published client signs itself',
      allowed: 'secret key',
      answers: {
        200: { description: 'The claims.', content: json(object({ sub: TEXT, pub: { const: true } })) },
      },
    },
    () => (c) => c.json(PUBLIC_CLAIMS),
  ),
  // For secret keys: an access token that could sign another would never expire.
  route(
    CREATE_PUBLIC_TOKEN_ADDRESS,
    {
      id: 'createPublicToken',
      tag: 'Access',
      summary: 'Sign an access token',
      allowed: 'secret key',
      body: { required: true, content: json(named('CreatePublicToken')) },
      answers: { 200: { description: 'The access token.', content: json(object({ token: TEXT })) } },
    },
    ({ limits, inside: { credentials, host } }) =>
      async (c) => {
        const body = await readJsonObject(c.req.raw, limits.otherBytes)
        const asked = await refusingWrongInput(async () => readAccessTokenBody(body, host.now()))
        return c.json({ token: credentials.sign(asked) })
      },
  ),
  ofWorkers('POST /engine/v1/runs/:run/waitpoints/tokens/:id/wait', 'waitForTokenAsWorker', [
    RUN,
    { name: 'id', in: 'path', description: 'The id of a token.' },
  ]),
  ofWorkers('POST /api/v1/runs/:run/input-streams/wait', 'waitForInputAsWorker', [RUN]),
  ofWorkers('POST /engine/v1/runs/:run/wait/duration', 'waitForDurationAsWorker', [RUN]),
]

const schemas: OperationGroup['schemas'] = {
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
}

/** How the holder of a secret key obtains public access tokens: the claims to sign itself, or a signed token. */
export const ACCESS_ROUTES: RouteGroup = group(routes, (context) => context, schemas)
