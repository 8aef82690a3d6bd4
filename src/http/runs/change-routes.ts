import type { Hono } from 'hono'
import type { RescheduleOptions, RetrievedRun } from '../../api/run.ts'
import { readJsonObject } from '../requests/json-body.ts'
import { readMetadataChange } from './metadata-change.ts'
import { Refusal } from '../refusal.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { changeableRunId, readAccesses, retrieveRun } from './access.ts'
import { RunChanges } from './changes.ts'
import { retrievedRunJson } from './json.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'

/** Routes that change a run: its tags, its metadata, and its start. */
export function addRunChangeRoutes(app: Hono, context: RouteContext): void {
  const { engine, gate, limits } = context
  const changes = new RunChanges(context)

  addRoute(app, '/api/v1/runs/:id/tags', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const id = changeableRunId(caller, c.req.param('id'))
      const { tags } = await readJsonObject(c.req.raw, limits.otherBytes)
      if (tags === undefined) throw new Refusal(400, 'Validation error: "tags" is missing')
      // `RunChanges.tags` checks their type.
      const count = await refusingWrongInput(() => changes.tags(id, tags as readonly string[]))
      return c.json({ message: `Successfully set ${count} new tags.` })
    },
  })

  addRoute(app, '/api/v1/runs/:id/reschedule', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const id = changeableRunId(caller, c.req.param('id'))
      // `reschedule` checks the types of the options.
      const options = (await readJsonObject(c.req.raw, limits.otherBytes)) as never as RescheduleOptions
      const run = await refusingWrongInput(() => engine.runs.reschedule(id, options))
      return c.json(retrievedRunJson(caller.mayAny(readAccesses(run)) ? run : withoutContent(run)))
    },
  })

  addRoute(app, '/api/v1/runs/:id/metadata', {
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const { metadata } = await retrieveRun(engine.runs, { caller, id: c.req.param('id') })
      return c.json({ metadata })
    },
    PUT: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const id = changeableRunId(caller, c.req.param('id'))
      const change = readMetadataChange(await readJsonObject(c.req.raw, limits.metadataBytes))
      return c.json({ metadata: await changes.metadata(id, change) })
    },
  })
}

/** Access to change a run does not include access to read its content. */
function withoutContent(run: RetrievedRun): RetrievedRun {
  return { ...run, payload: undefined, metadata: {} }
}
