import type { Hono } from 'hono'
import type { RescheduleOptions, RetrievedRun } from '../../api/run.ts'
import { readJsonObject } from '../requests/json-body.ts'
import { readMetadataChange } from './metadata-change.ts'
import { Refusal } from '../refusal.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import type { Caller } from '../access/caller.ts'
import { changeableRunId, readAccesses, retrieveRun } from './access.ts'
import { RunChanges } from './changes.ts'
import { API_VERSION_HEADER, retrievedRunJson } from './json.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'
import { shownRun } from './shown.ts'

/** Routes that change a run: its tags, its metadata, its start, and the code that it goes on with. */
export function addRunChangeRoutes(app: Hono, context: RouteContext): void {
  const { stored, gate, limits, turns } = context
  const changes = new RunChanges(context)

  addRoute(app, '/api/v1/runs/:id/tags', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const id = changeableRunId(caller, c.req.param('id'))
      const { tags } = await readJsonObject(c.req.raw, limits.otherBytes)
      if (tags === undefined) throw new Refusal(400, 'Validation error: "tags" is missing')
      // `RunChanges.tags` checks their type.
      const count = await gate.spending(caller, () =>
        refusingWrongInput(() => changes.tags(id, tags as readonly string[])),
      )
      return c.json({ message: `Successfully set ${count} new tags.` })
    },
  })

  addRoute(app, '/api/v1/runs/:id/reschedule', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const id = changeableRunId(caller, c.req.param('id'))
      // `reschedule` checks the types of the options.
      const options = (await readJsonObject(c.req.raw, limits.otherBytes)) as never as RescheduleOptions
      const run = await gate.spending(caller, () =>
        refusingWrongInput(() => stored.runs.reschedule(id, options)),
      )
      return c.json(retrievedRunJson(changedRun(run, caller), c.req.header(API_VERSION_HEADER)))
    },
  })

  addRoute(app, '/api/v1/runs/:id/continue', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const id = changeableRunId(caller, c.req.param('id'))
      const run = await gate.spending(caller, () => stored.runs.continueWith(id))
      return c.json(retrievedRunJson(changedRun(run, caller), c.req.header(API_VERSION_HEADER)))
    },
  })

  addRoute(app, '/api/v1/runs/:id/metadata', {
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const { metadata } = await retrieveRun(context, { caller, id: c.req.param('id') })
      return c.json({ metadata })
    },
    PUT: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const id = changeableRunId(caller, c.req.param('id'))
      const change = readMetadataChange(await readJsonObject(c.req.raw, limits.metadataBytes, turns))
      const metadata = await gate.spending(caller, () => changes.metadata(id, change))
      const shown = caller.skipColumns.has('metadata') ? '{}' : metadata
      return c.body(`{"metadata":${shown}}`, 200, { 'content-type': 'application/json' })
    },
  })
}

/** Access to change a run does not include access to read its content. It has not ended, so there is no more of it. */
function changedRun(run: RetrievedRun, caller: Caller): RetrievedRun {
  const shown = shownRun(run, caller)
  if (caller.mayAny(readAccesses(run))) return shown
  return { ...shown, payload: undefined, metadata: {}, waitingOn: [], attempts: [] }
}
