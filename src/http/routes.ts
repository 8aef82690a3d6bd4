import { Hono } from 'hono'
import { ACCESS_ROUTES } from './access-routes.ts'
import { ANSWER_ROUTES } from './answer-routes.ts'
import { PROBE_ROUTES } from './probes/routes.ts'
import { QUEUE_ROUTES } from './queues/routes.ts'
import { addRoutes, type RouteGroup } from './route.ts'
import type { RouteContext } from './route-context.ts'
import { RUN_ROUTES } from './runs/routes.ts'
import { TRIGGER_ROUTES } from './runs/trigger-routes.ts'
import { SCHEDULE_ROUTES } from './schedules/routes.ts'
import { SHAPE_ROUTES } from './shapes/routes.ts'
import { STREAM_ROUTES } from './streams/routes.ts'
import { TOKEN_ROUTES } from './tokens/routes.ts'

/** Every route of the handler. */
export const GROUPS: readonly RouteGroup[] = [
  TOKEN_ROUTES,
  ANSWER_ROUTES,
  TRIGGER_ROUTES,
  RUN_ROUTES,
  SHAPE_ROUTES,
  STREAM_ROUTES,
  SCHEDULE_ROUTES,
  QUEUE_ROUTES,
  ACCESS_ROUTES,
  PROBE_ROUTES,
]

/** Creates the app with every route. Its host answers unknown paths and errors. */
export function createRoutes(context: RouteContext): Hono {
  const app = new Hono()
  addRoutes(
    app,
    GROUPS.flatMap((group) => group.serve(context)),
    context,
  )
  return app
}
