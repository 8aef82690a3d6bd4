import { Hono } from 'hono'
import { addAuthRoutes } from './auth-routes.ts'
import type { RouteContext } from './route-context.ts'
import { addRunChangeRoutes } from './runs/change-routes.ts'
import { addRunRoutes } from './runs/routes.ts'
import { addRunStreamRoutes } from './streams/run-routes.ts'
import { addShapeRoutes } from './shapes/routes.ts'
import { addStreamRoutes } from './streams/routes.ts'
import { addStreamWriteRoutes } from './streams/write-routes.ts'
import { addTokenRoutes } from './tokens/routes.ts'
import { addTriggerRoutes } from './runs/trigger-routes.ts'
import { addWorkerRoutes } from './worker-routes.ts'

const GROUPS = [
  addTokenRoutes,
  addTriggerRoutes,
  addRunRoutes,
  addRunChangeRoutes,
  addRunStreamRoutes,
  addShapeRoutes,
  // Before those that read: a key may have slashes in it.
  addStreamWriteRoutes,
  addStreamRoutes,
  addAuthRoutes,
  addWorkerRoutes,
] as const

/** Every path there is; what is none of them, and what goes wrong, is for whoever mounts it. */
export function createRoutes(context: RouteContext): Hono {
  const app = new Hono()
  for (const addGroup of GROUPS) addGroup(app, context)
  return app
}
