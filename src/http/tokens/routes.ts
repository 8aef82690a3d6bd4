import type { TokenStatus } from '../../contract/records.ts'
import type { CompletedToken, LinkedToken, ListTokensParams } from '../../api/token.ts'
import {
  COMPLETE_TOKEN_ADDRESS,
  CREATE_TOKEN_ADDRESS,
  EXTEND_TOKEN_ADDRESS,
  FOLLOW_TOKEN_ADDRESS,
  FOLLOW_TOKENS_ADDRESS,
  LIST_TOKENS_ADDRESS,
  REASSIGN_TOKEN_ADDRESS,
  RETRIEVE_TOKEN_ADDRESS,
  WITHDRAW_TOKEN_ADDRESS,
} from '../../hosted/addresses.ts'
import type { Engine } from '../../core/engine.ts'
import type { Caller } from '../access/caller.ts'
import { KEY_FILTER, PAGE_SIZE, STATUS_FILTER, TOKEN_TAG_FILTER } from '../../hosted/list-parameters.ts'
import { accessTokenHeaders } from '../access/token.ts'
import { callbackOutput, readCompletion } from './output.ts'
import type { Answerer } from '../../api/question.ts'
import { UnknownAnswerer } from '../../core/inside.ts'
import { areEqualSecrets } from '../access/equal-secrets.ts'
import {
  ACCESS_HEADERS,
  ANYTHING,
  COUNT,
  EVENTS,
  FLAG,
  INSTANT,
  json,
  JSON_OBJECT,
  membersOf,
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
import { readJsonObject, requireJsonObject } from '../requests/json-body.ts'
import { checkLabels } from '../requests/labels.ts'
import type { Limits } from '../limits.ts'
import { ListQuery } from '../requests/list-query.ts'
import { Refusal } from '../refusal.ts'
import { JSON_TYPE } from '../requests/content-type.ts'
import { packetJson } from '../requests/packet-text.ts'
import { RepeatedRequests } from '../requests/repeated.ts'
import { checkAnnouncedLength, readBody } from '../requests/body.ts'
import { group, type Route, route, type RouteGroup } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { defined } from '../../primitives/defined.ts'
import { eventResponse } from '../events/response.ts'
import { settledBefore } from './settled-before.ts'
import { listEvents, tokenEvents } from './events.ts'
import { completedJson, createdTokenJson, retrievedTokenJson, tokenJson } from './json.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'
import { REQUEST_NAME } from '../../hosted/headers.ts'
import { TOKEN_MEMBERS } from '../../hosted/token.ts'

const ID: Parameter = { name: 'id', in: 'path', description: 'The id of the token: `waitpoint_…`.' }
const BY_URL = new UnknownAnswerer('url')
const BY_HTTP = new UnknownAnswerer('http')
const DURATION: Schema = { anyOf: [TEXT, COUNT] }
const LABELS: Schema = { anyOf: [TEXT, arrayOf(TEXT)] }
const COMPLETED = { description: 'Settled, by this request or before.', content: json(named('Completed')) }

const TOKEN = { id: TEXT, url: TEXT, status: named('TokenStatus'), tags: arrayOf(TEXT) }
const INSTANTS = { createdAt: INSTANT, timeoutAt: INSTANT }
const LATER = {
  ...membersOf(TOKEN_MEMBERS),
  question: named('Question'),
  answeredBy: named('AnsweredBy'),
  withdrawn: named('Withdrawal'),
}

const routes: readonly Route<RouteContext>[] = [
  route(
    CREATE_TOKEN_ADDRESS,
    {
      id: 'createToken',
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
    ({ engine, limits }) => {
      const created = new RepeatedRequests<LinkedToken>()
      return async (c, caller) => {
        const body = await readJsonObject(c.req.raw, limits.createTokenBytes)
        checkLabels(body, limits, 'Waitpoints')
        const token = await created.serve(caller.credential, c.req.header(REQUEST_NAME), () =>
          refusingWrongInput(() => engine.wait.createToken(body)),
        )
        return c.json(createdTokenJson(token, c.req.raw), 200, accessTokenHeaders(token.publicAccessToken))
      }
    },
  ),
  route(
    LIST_TOKENS_ADDRESS,
    {
      id: 'listTokens',
      tag: 'Tokens',
      summary: 'List tokens',
      description:
        'Newest first, without their outputs. A `filter` or `page` that does not exist is refused.',
      allowed: ['read:waitpoints'],
      parameters: [
        {
          name: STATUS_FILTER,
          in: 'query',
          description: 'Any of these statuses.',
          isList: true,
          schema: named('TokenStatus'),
        },
        { name: TOKEN_TAG_FILTER, in: 'query', description: 'Any of these tags.', isList: true },
        { name: KEY_FILTER, in: 'query', description: 'With this key.' },
        ...LIST_PARAMETERS,
      ],
      answers: { 200: { description: 'A page of tokens.', content: json(pageOf(named('Token'))) } },
      refused: [400],
    },
    ({ stored, limits }) =>
      async (c, caller) => {
        const request = c.req.raw
        const params = readTokenQuery(request, limits)
        const { data, pagination } = await refusingWrongInput(() => stored.wait.listTokens(params))
        return c.json({ data: data.map((token) => tokenJson(token, { caller, request })), pagination })
      },
  ),
  // Before the tokens by id, of which none is called so.
  route(
    FOLLOW_TOKENS_ADDRESS,
    {
      id: 'followTokens',
      tag: 'Following',
      summary: 'Follow what waits as server-sent events',
      description:
        'An event `tokens` with the newest tokens that wait, without outputs, and another one whenever they are others. It does not end.',
      allowed: ['read:waitpoints'],
      anyOrigin: true,
      parameters: [
        { name: TOKEN_TAG_FILTER, in: 'query', description: 'Any of these tags.', isList: true },
        ...LIST_PARAMETERS.filter(({ name }) => name === PAGE_SIZE),
      ],
      answers: { 200: { description: 'The events.', content: EVENTS } },
      refused: [400],
    },
    (context) => (c, caller) => {
      const request = c.req.raw
      const { tags, limit } = readTokenQuery(request, context.limits)
      const lists = context.stored.wait.subscribeToTokens(defined({ tags, limit }))[Symbol.asyncIterator]()
      return eventResponse(c, context, {
        texts: listEvents({ [Symbol.asyncIterator]: () => lists }, { caller, request }),
        leave: async () => lists.return?.(),
        caller,
      })
    },
  ),
  route(
    RETRIEVE_TOKEN_ADDRESS,
    {
      id: 'retrieveToken',
      tag: 'Tokens',
      summary: 'Read a token and its output',
      allowed: ['read:waitpoints:<id>'],
      parameters: [ID],
      answers: { 200: { description: 'The token.', content: json(named('RetrievedToken')) } },
      refused: [404],
    },
    ({ stored, turns }) =>
      async (c, caller) => {
        const id = plausibleTokenId(c.req.param('id'))
        const token = await stored.wait.retrieveToken(id)
        const answer = retrievedTokenJson(token, { caller, request: c.req.raw })
        return c.body(await packetJson(answer, turns), 200, JSON_TYPE)
      },
  ),
  route(
    FOLLOW_TOKEN_ADDRESS,
    {
      id: 'followToken',
      tag: 'Following',
      summary: 'Follow a token as server-sent events',
      description:
        'An event `token` with the token as it is, and another one when its deadline, its approvers or its status are others. The last one has a status other than `WAITING`.',
      allowed: ['read:waitpoints:<id>'],
      anyOrigin: true,
      parameters: [ID],
      answers: { 200: { description: 'The events.', content: EVENTS } },
      refused: [404],
    },
    (context) => async (c, caller) => {
      const { stored } = context
      const id = plausibleTokenId(c.req.param('id'))
      // What cannot be read is refused before the answer begins.
      await stored.wait.retrieveToken(id)
      const tokens = stored.wait.subscribeToToken(id)[Symbol.asyncIterator]()
      const reader = { caller, request: c.req.raw }
      return eventResponse(c, context, {
        texts: tokenEvents({ [Symbol.asyncIterator]: () => tokens }, reader),
        leave: async () => tokens.return?.(),
        caller,
      })
    },
  ),
  // For browsers, which hold an access token. A token's URL is for servers.
  route(
    COMPLETE_TOKEN_ADDRESS,
    {
      id: 'completeToken',
      tag: 'Tokens',
      summary: 'Complete a token',
      description:
        'The first completion wins; `success` says whether it was this one. A settled token does not change. Requests with the header `trigger-version`, as the published client sends it, always get `success: true`.',
      allowed: ['write:waitpoints:<id>'],
      anyOrigin: true,
      parameters: [ID, REPEATED],
      body: { required: true, content: json(named('CompleteToken')) },
      answers: { 200: COMPLETED },
      refused: [404, 422],
    },
    ({ engine, inside, gate, limits: { completeBytes }, turns }) => {
      const completed = new RepeatedRequests<CompletedToken>()
      const hasAnswer = (caller: Caller, id: string, name: string | undefined): boolean =>
        completed.has(`${caller.credential} ${id}`, name)
      return {
        isRepetition: (c, caller) => hasAnswer(caller, c.req.param('id'), c.req.header(REQUEST_NAME)),
        answer: async (c, caller) => {
          const name = c.req.header(REQUEST_NAME)
          const id = plausibleTokenId(c.req.param('id'))
          checkAnnouncedLength(c.req.raw, completeBytes)
          const complete = async (): Promise<CompletedToken> => {
            const body = await readBody(c.req.raw, completeBytes)
            await turns.next(body.length)
            const { output, by } = await readCompletion(body, c.req.header('content-type'), turns)
            const options = { by: answererOf(caller, by) }
            await turns.next(body.length)
            // A caller that won the completion and lost the answer gets the same answer again.
            return completed.serve(`${caller.credential} ${id}`, name, () =>
              gate.spending(caller, () =>
                refusingWrongInput(() => engine.wait.completeToken(id, output, options)),
              ),
            )
          }
          const isRepetition = hasAnswer(caller, id, name)
          const settled = isRepetition ? undefined : await settledBefore(c.req.raw, { inside, id })
          return c.json(completedJson(settled ?? (await complete()), c.req.raw))
        },
      }
    },
  ),
  route(
    'POST /api/v1/waitpoints/tokens/:id/callback/:hash',
    {
      id: 'completeTokenByUrl',
      tag: 'Tokens',
      summary: 'Complete a token by its URL',
      otherMethods: 'Method not allowed: a POST to this address completes the token (docs/waitpoints.md)',
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
      refused: [403, 404, 422],
    },
    ({ engine, inside, gate, limits: { completeBytes }, turns }) =>
      async (c) => {
        const { id, hash } = c.req.param()
        // Before any lookup: a caller with a wrong address must not learn whether the token exists.
        await gate.enterBy(c.req.raw, `token ${id}`, () => {
          if (!areEqualSecrets(hash, inside.credentials.tokenHash(id)))
            throw new Refusal(401, "Invalid URL, hash doesn't match")
          // A text that is not an id could still have a valid hash, and each spelling would be counted separately.
          plausibleTokenId(id)
        })
        checkAnnouncedLength(c.req.raw, completeBytes)
        const settled = await settledBefore(c.req.raw, { inside, id })
        if (settled !== undefined) return c.json(settled)
        const body = await readBody(c.req.raw, completeBytes)
        await turns.next(body.length)
        const output = await callbackOutput(body, c.req.header('content-type'), turns)
        await turns.next(body.length)
        return c.json(await engine.wait.completeToken(id, output, { by: BY_URL }))
      },
  ),
  changeRoute(
    WITHDRAW_TOKEN_ADDRESS,
    {
      id: 'withdrawToken',
      summary: 'End the wait for a token without an answer',
      description:
        'It is `TIMED_OUT` now, and says who withdrew it and why. A settled token does not change.',
      body: named('WithdrawToken'),
    },
    (wait, id, { by, ...options }) =>
      wait.withdrawToken(id, { ...options, by: by === undefined ? BY_HTTP : sentAnswerer(by) }),
  ),
  changeRoute(
    EXTEND_TOKEN_ADDRESS,
    {
      id: 'extendToken',
      summary: 'Give a token that waits another deadline',
      description: 'Later or earlier. `timeout` is a duration from now, or an ISO 8601 date.',
      body: object({ timeout: DURATION }),
    },
    (wait, id, body) => wait.extendToken(id, only(body, 'timeout') as string),
  ),
  changeRoute(
    REASSIGN_TOKEN_ADDRESS,
    {
      id: 'reassignToken',
      summary: 'Give a token that waits other approvers',
      description:
        'From then on an answer needs a `by` that is one of these ids or roles. One who reassigns it, `by`, must be an approver.',
      body: object({ approvers: arrayOf(TEXT) }, { by: named('Answerer') }),
    },
    (wait, id, { approvers, by, ...options }) =>
      wait.reassignToken(id, approvers as string[], {
        ...options,
        ...(by !== undefined && { by: sentAnswerer(by) }),
      }),
  ),
]

/** A route by which a secret key changes a token that waits. */
function changeRoute(
  at: `POST /api/v1/waitpoints/tokens/:id/${string}`,
  { body, ...said }: Pick<Operation, 'id' | 'summary' | 'description'> & { readonly body: Schema },
  change: (
    wait: Engine['wait'],
    id: string,
    body: Readonly<Record<string, unknown>>,
  ) => Promise<CompletedToken>,
): Route<RouteContext> {
  return route(
    at,
    {
      ...said,
      tag: 'Tokens',
      allowed: 'secret key',
      parameters: [ID],
      body: { required: true, content: json(body) },
      answers: {
        200: { description: 'Done, or the token was settled before.', content: json(named('Completed')) },
      },
      refused: [404],
    },
    ({ engine, limits }) =>
      async (c) => {
        const id = plausibleTokenId(c.req.param('id'))
        const sent = await readJsonObject(c.req.raw, limits.otherBytes)
        return c.json(await refusingWrongInput(() => change(engine.wait, id, sent)))
      },
  )
}

/** The only member of a body. @throws Refusal 400 for any other one. */
function only(body: Readonly<Record<string, unknown>>, name: string): unknown {
  const other = Object.keys(body).find((each) => each !== name)
  if (other === undefined) return body[name]
  throw new Refusal(400, `Validation error: there is no ${JSON.stringify(other)} here`)
}

const schemas: OperationGroup['schemas'] = {
  TokenStatus: { type: 'string', enum: ['WAITING', 'COMPLETED', 'TIMED_OUT'] },
  CreateToken: {
    ...(object(
      {},
      {
        timeout: DURATION,
        idempotencyKey: TEXT,
        idempotencyKeyTTL: DURATION,
        tags: LABELS,
        message: TEXT,
        schema: JSON_OBJECT,
        data: ANYTHING,
        choices: arrayOf(TEXT),
        approvers: arrayOf(TEXT),
        onTimeoutText: TEXT,
      },
    ) as object),
    description:
      '`timeout` is a duration (`24h`, milliseconds) or an ISO 8601 date; `10m` by default. `message` and the members after it make the token a question; `schema` is a JSON Schema.',
  },
  CreatedToken: object({ id: TEXT, isCached: FLAG, url: TEXT, publicAccessToken: TEXT }, { link: TEXT }),
  CompleteToken: {
    ...(object({}, { output: ANYTHING, data: ANYTHING, by: named('Answerer') }) as object),
    description:
      'Either `output` or `data`, which is what the published client calls it: any JSON value. `{}` completes without an output. `by` says who answers: only with a secret key.',
    not: { required: ['output', 'data'], properties: { output: ANYTHING, data: ANYTHING } },
  },
  Completed: object({ success: FLAG, status: named('TokenStatus') }, { by: named('Withdrawal') }),
  WithdrawToken: object({}, { reason: TEXT, by: named('Answerer') }),
  Withdrawal: {
    ...(object({ via: TEXT }, { id: TEXT, name: TEXT, reason: TEXT }) as object),
    description: 'Who settled a token, and by what way; with the `reason`, if it was withdrawn.',
  },
  Question: object(
    {},
    {
      message: TEXT,
      data: ANYTHING,
      schema: JSON_OBJECT,
      isSchemaHidden: FLAG,
      choices: arrayOf(TEXT),
      approvers: arrayOf(TEXT),
      onTimeoutText: TEXT,
    },
  ),
  Answerer: object({ id: TEXT }, { name: TEXT, roles: arrayOf(TEXT), via: TEXT }),
  AnsweredBy: {
    ...(object({ via: TEXT }, { id: TEXT, name: TEXT }) as object),
    description: 'Who answered a token, and by what way. Without an `id` it is not known.',
  },
  Token: object({ ...TOKEN, ...INSTANTS }, LATER),
  RetrievedToken: {
    ...(object(
      { ...TOKEN, ...INSTANTS, outputType: TEXT, outputIsError: FLAG },
      { ...LATER, output: TEXT, waitingRuns: arrayOf(TEXT) },
    ) as object),
    description:
      '`output` is JSON text. Of a token that timed out it is the error, and `outputIsError` is true.',
  },
}

/** Routes for tokens: create, list, retrieve; complete through the endpoint or the token's URL. See docs/http-api.md. */
export const TOKEN_ROUTES: RouteGroup = group(routes, (context) => context, schemas)

/**
 * Who answers. An identity that the caller could write themself would be none: a secret key says it, or the access token.
 *
 * @throws Refusal 400 for an access token with another one.
 */
function answererOf(caller: Caller, by: unknown): Answerer {
  if (by === undefined) return caller.by === undefined ? BY_HTTP : { ...caller.by, via: 'http' }
  if (!caller.hasSecretKey)
    throw new Refusal(
      400,
      'Validation error: "by" is for secret keys; with an access token, give it to createAccessToken',
    )
  return sentAnswerer(by)
}

/** The engine checks its members. */
function sentAnswerer(by: unknown): Answerer {
  return { via: 'http', ...requireJsonObject(by, '"by"') } as unknown as Answerer
}

function readTokenQuery(request: Request, { pageSize }: Limits): ListTokensParams {
  const query = new ListQuery(request, ['status', 'tags', 'idempotencyKey'])
  // `list` refuses an unknown status.
  const status = query.list('status') as readonly TokenStatus[] | undefined
  const tags = query.list('tags')
  const idempotencyKey = query.text('idempotencyKey')
  return {
    ...query.created(),
    ...query.page(pageSize),
    ...(status === undefined ? {} : { status }),
    ...(tags === undefined ? {} : { tags }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
}

/** The id, if it has the form of an id of this library. Other texts never reach a storage. */
function plausibleTokenId(id: string): string {
  if (/^waitpoint_\w{1,64}$/.test(id)) return id
  throw new Refusal(404, 'Waitpoint not found')
}
