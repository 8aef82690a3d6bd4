import type { Hono } from 'hono'
import type { RunHandle } from '../../api/run.ts'
import { type JsonObject, requireJsonObject } from '../requests/json-body.ts'
import { Refusal } from '../refusal.ts'
import { RepeatedRequests, REQUEST_NAME } from '../requests/repeated.ts'
import { checkAnnouncedLength, parseJson, readBody } from '../requests/body.ts'
import { decodeText } from '../requests/text.ts'
import type { Caller } from '../access/caller.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { changeableRunId, retrieveRun } from './access.ts'
import { shownRun } from './shown.ts'
import { API_VERSION_HEADER, retrievedRunJson, runJson, runResultJson } from './json.ts'
import { readRunQuery } from './query.ts'
import { checkServiceOptions, type ReadOptions } from '../requests/service-options.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'

/** Routes for runs: retrieve, list, explain, cancel, replay. */
export function addRunRoutes(app: Hono, context: RouteContext): void {
  const { engine, stored, gate, limits } = context

  addRoute(app, '/api/v3/runs/:id', {
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const run = await retrieveRun(context, { caller, id: c.req.param('id') })
      return c.json(retrievedRunJson(run, c.req.header(API_VERSION_HEADER)))
    },
  })

  addRoute(app, '/api/v1/runs', {
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const params = readRunQuery(c.req.raw, { caller, limits })
      if (params === undefined) return c.json({ data: [], pagination: {} })
      const { data, pagination } = await refusingWrongInput(() => stored.runs.list(params))
      const apiVersion = c.req.header(API_VERSION_HEADER)
      return c.json({ data: data.map((run) => runJson(shownRun(run, caller), apiVersion)), pagination })
    },
  })

  addRoute(app, '/api/v1/runs/:id/result', {
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const result = runResultJson(await retrieveRun(context, { caller, id: c.req.param('id') }))
      if (result === undefined) throw new Refusal(404, 'Run has not ended yet')
      return c.json(result)
    },
  })

  addRoute(app, '/api/v1/runs/:id/explanation', {
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      // It names other runs of a queue, and the machine of an engine.
      caller.requireSecretKey()
      return c.json(await engine.runs.explain(c.req.param('id')))
    },
  })

  addRoute(app, '/api/v2/runs/:id/cancel', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const id = changeableRunId(caller, c.req.param('id'), 'cancel')
      return c.json(await gate.spending(caller, () => engine.runs.cancel(id)))
    },
  })

  addReplay(app, { engine, gate, limits })
}

function addReplay(
  app: Hono,
  { engine, gate, limits }: Pick<RouteContext, 'engine' | 'gate' | 'limits'>,
): void {
  const repeated = new RepeatedRequests<RunHandle<unknown>>()

  addRoute(app, '/api/v1/runs/:id/replay', {
    POST: async (c) => {
      const name = c.req.header(REQUEST_NAME)
      const whose = ({ credential }: Caller): string => `${credential} ${c.req.param('id')}`
      const caller = await gate.enter(c.req.raw, (each) => repeated.has(whose(each), name))
      const original = changeableRunId(caller, c.req.param('id'))
      const { id } = await repeated.serve(whose(caller), name, async () => {
        checkAnnouncedLength(c.req.raw, limits.triggerBytes)
        const body = await readBody(c.req.raw, limits.triggerBytes)
        // Newer clients send options for the replayed run.
        const type = c.req.header('content-type')
        if (body.length > 0) checkReplay(requireJsonObject(parseJson(decodeText(body, type)), 'the body'))
        return gate.spending(caller, () => engine.runs.replay(original))
      })
      return c.json({ id })
    },
  })
}

const REPLAYED: ReadOptions = {
  names: [],
  what: 'replay a run',
  instead: 'a replayed run gets the payload and options of the original; use trigger to change them',
}

function checkReplay(options: JsonObject): void {
  checkServiceOptions(options, REPLAYED)
}
