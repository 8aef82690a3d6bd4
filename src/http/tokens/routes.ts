import type { Hono } from 'hono'
import type { TokenStatus } from '../../contract/records.ts'
import type { CompletedToken, CreatedToken, ListTokensParams } from '../../api/token.ts'
import type { Caller } from '../access/caller.ts'
import { accessTokenHeaders } from '../access/token.ts'
import { callbackOutput, completionOutput } from './output.ts'
import { areEqualSecrets } from '../access/equal-secrets.ts'
import { readJsonObject } from '../requests/json-body.ts'
import { checkLabels } from '../requests/labels.ts'
import type { Limits } from '../limits.ts'
import { ListQuery } from '../requests/list-query.ts'
import { Refusal } from '../refusal.ts'
import { RepeatedRequests, REQUEST_NAME } from '../requests/repeated.ts'
import { checkAnnouncedLength, readBody } from '../requests/body.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { settledBefore } from './settled-before.ts'
import { createdTokenJson, retrievedTokenJson, tokenJson } from './json.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'

const TOKENS = '/api/v1/waitpoints/tokens'
const TOKEN = `${TOKENS}/:id` as const

/**
 * Routes for tokens: create, list, retrieve; complete through the endpoint or the token's URL. See docs/http-api.md.
 */
export function addTokenRoutes(app: Hono, context: RouteContext): void {
  addCompletion(app, context)
  addRecords(app, context)
}

function addRecords(app: Hono, { engine, stored, gate, limits }: RouteContext): void {
  const created = new RepeatedRequests<CreatedToken>()

  addRoute(app, TOKENS, {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      caller.requireSecretKey()
      const body = await readJsonObject(c.req.raw, limits.createTokenBytes)
      checkLabels(body, limits, 'Waitpoints')
      const token = await created.serve(caller.credential, c.req.header(REQUEST_NAME), () =>
        refusingWrongInput(() => engine.wait.createToken(body)),
      )
      return c.json(createdTokenJson(token), 200, accessTokenHeaders(token.publicAccessToken))
    },
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      caller.require({ action: 'read', type: 'waitpoints' })
      const params = readTokenQuery(c.req.raw, limits)
      const { data, pagination } = await refusingWrongInput(() => engine.wait.listTokens(params))
      return c.json({ data: data.map((token) => tokenJson(token, caller)), pagination })
    },
  })

  addRoute(app, TOKEN, {
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const id = plausibleTokenId(c.req.param('id'))
      caller.require({ action: 'read', type: 'waitpoints', id })
      return c.json(retrievedTokenJson(await stored.wait.retrieveToken(id), caller))
    },
  })
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

function addCompletion(app: Hono, { engine, kernel, gate, limits, turns }: RouteContext): void {
  const { credentials } = kernel
  const { completeBytes } = limits
  const completed = new RepeatedRequests<CompletedToken>()

  // For browsers, which hold an access token. A token's URL is for servers.
  addRoute(app, `${TOKEN}/complete`, {
    anyOrigin: true,
    POST: async (c) => {
      const name = c.req.header(REQUEST_NAME)
      const whose = ({ credential }: Caller): string => `${credential} ${c.req.param('id')}`
      const caller = await gate.enter(c.req.raw, (each) => completed.has(whose(each), name))
      caller.require({ action: 'write', type: 'waitpoints', id: c.req.param('id') })
      const id = plausibleTokenId(c.req.param('id'))
      checkAnnouncedLength(c.req.raw, completeBytes)
      const complete = async (): Promise<CompletedToken> => {
        const body = await readBody(c.req.raw, completeBytes)
        await turns.next()
        const output = completionOutput(body, c.req.header('content-type'))
        await turns.next()
        // A caller that won the completion and lost the answer gets the same answer again.
        return completed.serve(whose(caller), name, () =>
          gate.spending(caller, () => engine.wait.completeToken(id, output)),
        )
      }
      const isRepetition = completed.has(whose(caller), name)
      const settled = isRepetition ? undefined : await settledBefore(c.req.raw, { kernel, id })
      const { success, status } = settled ?? (await complete())
      // The published client reads any other answer as malformed.
      return c.json({ success: success || c.req.header('trigger-version') !== undefined, status })
    },
  })

  addRoute(app, `${TOKEN}/callback/:hash`, {
    POST: async (c) => {
      const { id, hash } = c.req.param()
      // Before any lookup: a caller with a wrong address must not learn whether the token exists.
      await gate.enterBy(c.req.raw, `token ${id}`, () => {
        if (!areEqualSecrets(hash, credentials.tokenHash(id)))
          throw new Refusal(401, "Invalid URL, hash doesn't match")
        // A text that is not an id could still have a valid hash, and each spelling would be counted separately.
        plausibleTokenId(id)
      })
      checkAnnouncedLength(c.req.raw, completeBytes)
      const settled = await settledBefore(c.req.raw, { kernel, id })
      if (settled !== undefined) return c.json(settled)
      const body = await readBody(c.req.raw, completeBytes)
      await turns.next()
      const output = await callbackOutput(body, c.req.header('content-type'))
      await turns.next()
      return c.json(await engine.wait.completeToken(id, output))
    },
  })
}

/** The id, if it has the form of an id of this library. Other texts never reach a storage. */
function plausibleTokenId(id: string): string {
  if (/^waitpoint_\w{1,64}$/.test(id)) return id
  throw new Refusal(404, 'Waitpoint not found')
}
