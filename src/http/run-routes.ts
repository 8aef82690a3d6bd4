import type { Hono } from 'hono'
import type { RunHandle } from '../core/run.ts'
import { Refusal } from './refusal.ts'
import { RepeatedRequests, REQUEST_NAME } from './repeated-requests.ts'
import { addRoute } from './route.ts'
import type { RouteContext } from './route-context.ts'
import { changeableRunId, retrieveRun } from './run-access.ts'
import { retrievedRunJson, runJson, runResultJson } from './run-json.ts'
import { readRunQuery } from './run-query.ts'
import { refusingWrongInput } from './wrong-input.ts'

/** Runs over HTTP: read, listed, canceled, triggered again. */
export function addRunRoutes(app: Hono, { engine, gate, limits }: RouteContext): void {
  addRoute(app, '/api/v3/runs/:id', {
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      return c.json(retrievedRunJson(await retrieveRun(engine.runs, { caller, id: c.req.param('id') })))
    },
  })

  addRoute(app, '/api/v1/runs', {
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const params = readRunQuery(c.req.raw, { caller, limits })
      if (params === undefined) return c.json({ data: [], pagination: {} })
      const { data, pagination } = await refusingWrongInput(() => engine.runs.list(params))
      return c.json({ data: data.map(runJson), pagination })
    },
  })

  addRoute(app, '/api/v1/runs/:id/result', {
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const result = runResultJson(await retrieveRun(engine.runs, { caller, id: c.req.param('id') }))
      if (result === undefined) throw new Refusal(404, 'Run has not ended yet')
      return c.json(result)
    },
  })

  addRoute(app, '/api/v2/runs/:id/cancel', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      return c.json(await engine.runs.cancel(changeableRunId(caller, c.req.param('id'))))
    },
  })

  addReplay(app, { engine, gate })
}

function addReplay(app: Hono, { engine, gate }: Pick<RouteContext, 'engine' | 'gate'>): void {
  const repeated = new RepeatedRequests<RunHandle<unknown>>()

  addRoute(app, '/api/v1/runs/:id/replay', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const original = changeableRunId(caller, c.req.param('id'))
      const whose = `${caller.credential} ${original}`
      const { id } = await repeated.serve(whose, c.req.header(REQUEST_NAME), () =>
        engine.runs.replay(original),
      )
      return c.json({ id })
    },
  })
}
